import assert from 'node:assert/strict';
import { chmod, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeRelease, type TestRelease, testKey } from '../../tests/bundles.ts';
import { verifyMedia } from '../bundle/medium.ts';
import { programDirectory } from '../bundle/program.ts';
import { openMedia } from '../media/media.ts';
import { runOrThrow } from '../process/run.ts';
import { buildBundle } from './bundle.ts';

const key = testKey();
let directory: string;
let release: TestRelease;
let media: string;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-program-'));
  release = await makeRelease({ version: '1.1.0', dir: directory, key: key.pair });
  media = join(directory, 'media');
  await buildBundle({
    payload: release.payloadSource,
    images: release.sources,
    privatePem: key.pair.privatePem,
    out: media,
    withProgram: true,
  });
});
after(() => rm(directory, { recursive: true }));

async function problems(path: string): Promise<string[]> {
  const opened = await openMedia(path);
  try {
    const report = await verifyMedia(opened, [key.trusted]);
    return [...report.bundles.flatMap((each) => each.problems), ...report.problems].map(
      (each) => `${each.image}: ${each.code}`,
    );
  } finally {
    await opened.close();
  }
}

test('a machine with nothing else checks the disk with openssl and sha256sum, unpacks, and verifies the bundle', async () => {
  const program = join(media, programDirectory);
  const sums = ['-verify', 'sluice.pub', '-signature', 'SHA256SUMS.sig', 'SHA256SUMS'];
  assert.match(
    (await runOrThrow('openssl', ['dgst', '-sha256', ...sums], { cwd: program })).stdout,
    /Verified OK/,
  );
  await runOrThrow('sha256sum', ['--quiet', '-c', 'SHA256SUMS'], { cwd: program });
  const readme = await readFile(join(program, 'README.txt'), 'utf8');
  assert.ok(readme.includes(key.trusted.fingerprint));
  const archive = /sluice-[\w.-]+\.tar\.gz/.exec(readme)?.[0] ?? '';
  const target = join(directory, 'opt');
  await runOrThrow('mkdir', [target]);
  await runOrThrow('tar', ['-xzf', join(program, archive), '-C', target]);
  const unpacked = join(target, archive.replace(/-linux.*/, ''));
  const env = { PATH: '/usr/bin:/bin', HOME: target };
  const { stdout } = await runOrThrow(
    join(unpacked, 'sluice'),
    ['bundle', 'verify', media, '--key', join(program, 'sluice.pub')],
    { env },
  );
  assert.match(stdout, /verified/);
  await chmod(target, 0o755);
});

test('the bundle is the very same with the program beside it, and a changed program is found', async () => {
  assert.deepEqual(await problems(media), []);
  const copy = join(directory, 'copy');
  await cp(media, copy, { recursive: true });
  await writeFile(join(copy, programDirectory, 'README.txt'), 'evil');
  await writeFile(join(copy, programDirectory, 'more.sh'), 'evil');
  await rm(join(copy, programDirectory, 'sluice.pub'));
  assert.deepEqual((await problems(copy)).sort(), [
    'sluice-program/README.txt: DigestMismatch',
    'sluice-program/more.sh: DigestMismatch',
    'sluice-program/sluice.pub: ContentMissing',
  ]);
  await rm(join(copy, programDirectory, 'SHA256SUMS.sig'));
  assert.deepEqual(await problems(copy), ['sluice-program/SHA256SUMS: SignatureMissing']);
});
