import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeRelease, problemsOn, type TestRelease, testKey } from '../../tests/bundles.ts';
import { programDirectory } from '../bundle/program.ts';
import { isSluiceError } from '../errors/error.ts';
import { digestOf, hexOf } from '../oci/digest.ts';
import { runOrThrow } from '../process/run.ts';
import { programVersion } from '../program/build.ts';
import { signBytes } from '../trust/checksums.ts';
import { buildBundle } from './bundle.ts';
import { findProgramFiles } from './program.ts';

const key = testKey();
const version = programVersion();
let directory: string;
let dist: string;
let release: TestRelease;
let media: string;

/** What `npm run package` leaves, as far as media take notice of it: the programs themselves are opaque here. */
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-program-'));
  dist = join(directory, 'dist');
  await mkdir(dist);
  for (const name of [
    `sluice-${version}-linux-x64`,
    `sluice-${version}-linux-arm64`,
    'sluice-0.0.1-linux-x64',
  ]) {
    await writeFile(join(dist, name), `#!/bin/sh\necho ${name}\n`);
  }
  await writeFile(join(dist, `sluice-${version}-image-linux-x64.oci.tar`), 'an image');
  await writeFile(join(dist, 'NOTICES.txt'), 'licences');
  release = await makeRelease({ version: '1.1.0', dir: directory, key: key.pair });
  media = join(directory, 'media');
  await build(media);
});
after(() => rm(directory, { recursive: true }));

async function build(out: string) {
  return await buildBundle({
    payload: release.payloadSource,
    images: release.sources,
    privatePem: key.pair.privatePem,
    out,
    program: await findProgramFiles(dist),
  });
}

async function problems(path: string): Promise<string[]> {
  return (await problemsOn(path, key.trusted)).map((each) => `${each.image}: ${each.code}`);
}

test('media carry program and image of this version for each machine, manifests, documentation, notices and the key', async () => {
  const program = join(media, programDirectory);
  const names = await readdir(program);
  assert.deepEqual(names.filter((name) => name.startsWith('sluice-')).sort(), [
    `sluice-${version}-image-linux-x64.oci.tar`,
    `sluice-${version}-linux-arm64`,
    `sluice-${version}-linux-x64`,
  ]);
  for (const name of [
    'install',
    'deploy',
    'docs',
    'crds',
    'LICENSE',
    'NOTICES.txt',
    'CHANGELOG.md',
    'sluice.pub',
  ]) {
    assert.ok(names.includes(name), name);
  }
  const readme = await readFile(join(program, 'README.txt'), 'utf8');
  assert.ok(readme.includes(key.trusted.fingerprint));
  assert.ok(readme.includes(`sluice-${version}-image-linux-x64.oci.tar`));
});

test('a machine with nothing else checks the disk with openssl and sha256sum', async () => {
  const program = join(media, programDirectory);
  const sums = ['-verify', 'sluice.pub', '-signature', 'SHA256SUMS.sig', 'SHA256SUMS'];
  const { stdout } = await runOrThrow('openssl', ['dgst', '-sha256', ...sums], { cwd: program });
  assert.match(stdout, /Verified OK/);
  await runOrThrow('sha256sum', ['--quiet', '-c', 'SHA256SUMS'], { cwd: program });
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

test('a program that somebody else has listed and signed is refused', async () => {
  const copy = join(directory, 'exchanged');
  await cp(media, copy, { recursive: true });
  const program = join(copy, programDirectory);
  const name = `sluice-${version}-linux-x64`;
  await writeFile(join(program, name), 'evil');
  const text = await readFile(join(program, 'SHA256SUMS'), 'utf8');
  const sums = text.replace(
    new RegExp(`^.*  ${name}$`, 'm'),
    `${hexOf(digestOf(Buffer.from('evil')))}  ${name}`,
  );
  assert.notEqual(sums, text);
  await writeFile(join(program, 'SHA256SUMS'), sums);
  assert.deepEqual(await problems(copy), ['sluice-program/SHA256SUMS: SignatureUntrusted']);
  const { privatePem } = testKey('stranger').pair;
  await writeFile(join(program, 'SHA256SUMS.sig'), signBytes(Buffer.from(sums), privatePem));
  assert.deepEqual(await problems(copy), ['sluice-program/SHA256SUMS: SignatureUntrusted']);
});

test('a program that is not what its list says, or that is not there, goes onto no media', async () => {
  const sums = join(dist, 'SHA256SUMS');
  await writeFile(sums, `${'0'.repeat(64)}  sluice-${version}-linux-x64\n`);
  await assert.rejects(build(join(directory, 'other')), (error) => isSluiceError(error, 'DigestMismatch'));
  await rm(sums);
  await assert.rejects(findProgramFiles(media), (error) => isSluiceError(error, 'NotFound'));
});
