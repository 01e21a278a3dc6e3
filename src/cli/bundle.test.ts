import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeRelease, type TestRelease } from '../../tests/bundles.ts';
import { wordsOf } from '../../tests/shell.ts';
import { needs, repository } from '../../tests/tier.ts';
import { type RunResult, run } from '../process/run.ts';
import { blobData } from '../store/path.ts';
import { generateSigningKey } from '../trust/keys.ts';

let directory: string;
let release: TestRelease;
let keys: string;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-cli-bundle-'));
  keys = join(directory, 'keys');
  const made = await sluice('bundle', 'keygen', '--out', keys);
  assert.equal(made.code, 0, made.stderr);
  const privatePem = await readFile(join(keys, 'sluice.key'), 'utf8');
  const publicPem = await readFile(join(keys, 'sluice.pub'), 'utf8');
  release = await makeRelease({
    version: '1.1.0',
    previous: ['1.0.0'],
    dir: directory,
    key: { privatePem, publicPem },
  });
});
after(() => rm(directory, { recursive: true }));

async function sluice(...args: string[]): Promise<RunResult> {
  return await run(join(repository, 'sluice'), args, { env: { ...process.env, NO_COLOR: '1' } });
}

test('keygen writes a secret key and never overwrites', async () => {
  assert.equal((await stat(join(keys, 'sluice.key'))).mode & 0o777, 0o600);
  assert.match(await readFile(join(keys, 'sluice.key'), 'utf8'), /^-----BEGIN PRIVATE KEY-----/);
  const again = await sluice('bundle', 'keygen', '--out', keys);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /never overwritten/);
});

test('build, inspect and verify of a bundle on the command line', async () => {
  const web = release.sources.get('web') ?? '';
  const out = join(directory, 'built');
  const key = join(keys, 'sluice.key');
  const args = ['--payload', release.payloadSource, '--image', `web=${web}`, '--key', key, '--out', out];
  const built = await sluice('bundle', 'build', ...args, '-o', 'json');
  assert.equal(built.code, 0, built.stderr);
  assert.equal(JSON.parse(built.stdout).digest, release.digest);

  const verified = await sluice('bundle', 'verify', out, '--key', join(keys, 'sluice.pub'));
  assert.equal(verified.code, 0, verified.stderr);
  assert.match(verified.stdout, /ocp-release-bundle-1\.1\.0-x86_64 {2}verified/);
  assert.match(verified.stdout, /signed by {2}sluice \(key [0-9a-f]{16}\)/);

  const shown = await sluice('bundle', 'inspect', out);
  assert.match(shown.stdout, /Signature: +not looked at/);
  assert.match(shown.stdout, /^web +component/m);
  const yaml = await sluice('bundle', 'inspect', out, '--key', join(keys, 'sluice.pub'), '-o', 'yaml');
  assert.match(yaml.stdout, /version: 1\.1\.0/);
});

test('what bundle build prints verifies the bundle as it stands there', async () => {
  const web = release.sources.get('web') ?? '';
  const out = join(directory, 'with a blank');
  const words = ['--payload', release.payloadSource, '--image', `web=${web}`, '--out', out];
  const told = async (key: string) => {
    const built = await sluice('bundle', 'build', ...words, '--key', key);
    assert.equal(built.code, 0, built.stderr);
    const [program, ...command] = wordsOf(/^ {2}verify {3}(.*)$/m.exec(built.stdout)?.[1] ?? '');
    assert.equal(program, join(repository, 'sluice'));
    return command;
  };
  const command = await told(join(keys, 'sluice.key'));
  assert.deepEqual(command, ['bundle', 'verify', out, '--key', join(keys, 'sluice.pub')]);
  assert.equal((await sluice(...command)).code, 0);
  // A key whose other half is not beside it, and one that has another's there.
  const alone = join(directory, 'alone', 'sluice.key');
  await mkdir(join(directory, 'alone'));
  await copyFile(join(keys, 'sluice.key'), alone);
  assert.deepEqual(await told(alone), ['bundle', 'verify', out, '--key', 'FILE']);
  await writeFile(join(directory, 'alone', 'sluice.pub'), generateSigningKey().publicPem);
  assert.deepEqual(await told(alone), ['bundle', 'verify', out, '--key', 'FILE']);
});

test('one flipped bit: exit 6, the image and the digest are named', async () => {
  const web = release.document.images.find((each) => each.name === 'web');
  const manifest = JSON.parse(
    await readFile(join(release.path, blobData(web?.digest ?? release.digest)), 'utf8'),
  );
  const layer = manifest.layers[0].digest;
  const path = join(release.path, blobData(layer));
  const good = await readFile(path);
  const bytes = Buffer.from(good);
  bytes[100] = (bytes[100] ?? 0) ^ 0x10;
  await writeFile(path, bytes);
  const text = await sluice('bundle', 'verify', release.path, '--key', join(keys, 'sluice.pub'));
  const json = await sluice(
    'bundle',
    'verify',
    release.path,
    '--key',
    join(keys, 'sluice.pub'),
    '-o',
    'json',
  );
  await writeFile(path, good);
  assert.equal(text.code, 6);
  assert.match(text.stdout, /FAILED/);
  assert.match(text.stdout, new RegExp(`web: .*${layer}`));
  assert.equal(json.code, 6);
  const report = JSON.parse(json.stdout);
  assert.equal(report.verified, false);
  assert.deepEqual(
    [report.bundles[0].problems[0].image, report.bundles[0].problems[0].digest],
    ['web', layer],
  );
});

test('foreign and missing keys: exit 6, and what to do', async () => {
  await sluice('bundle', 'keygen', '--out', join(directory, 'foreign'));
  const foreign = await sluice(
    'bundle',
    'verify',
    release.path,
    '--key',
    join(directory, 'foreign', 'sluice.pub'),
  );
  assert.equal(foreign.code, 6);
  assert.match(
    foreign.stdout,
    /SignatureUntrusted .*signed by key [0-9a-f]{16}, which is not trusted; trusted: sluice/,
  );
  assert.match(
    foreign.stderr,
    /could not be verified: it is signed, but not by .*\n {2}next: Give the key that signed it/,
  );
  const inspected = await sluice(
    'bundle',
    'inspect',
    release.path,
    '--key',
    join(directory, 'foreign', 'sluice.pub'),
  );
  assert.equal(inspected.code, 6);
});

test('what never was a bundle is called so, with exit 1: nothing that was signed is damaged', async () => {
  const text = join(directory, 'README.md');
  await writeFile(text, 'x'.repeat(100_000));
  const empty = join(directory, 'no-disk');
  await mkdir(empty);
  for (const path of [text, empty, '/dev/null']) {
    const result = await sluice('bundle', 'verify', path, '--key', join(keys, 'sluice.pub'));
    assert.equal(result.code, 1, result.stderr);
    assert.match(result.stderr, /is not a bundle: it .*\n {2}next: Did you mean the mount point of the disk/);
    assert.doesNotMatch(result.stderr, /signed/);
  }
});

test('a damaged first block of an image is damage, whatever the file is called: exit 6', async () => {
  const image = join(directory, 'damaged');
  const bytes = Buffer.alloc(100_000);
  bytes.write('hsqr', 0, 'latin1');
  await writeFile(image, bytes);
  const result = await sluice('bundle', 'verify', image, '--key', join(keys, 'sluice.pub'));
  assert.equal(result.code, 6, result.stderr);
  assert.match(result.stderr, /cannot be read as a bundle/);
});

test('media that cannot be read as such: exit 6; what is not there: exit 1', async () => {
  const rubbish = join(directory, 'rubbish.iso');
  await writeFile(rubbish, 'x'.repeat(100_000));
  assert.equal((await sluice('bundle', 'verify', rubbish, '--key', join(keys, 'sluice.pub'))).code, 6);
  const absent = await sluice(
    'bundle',
    'verify',
    join(directory, 'absent'),
    '--key',
    join(keys, 'sluice.pub'),
  );
  assert.equal(absent.code, 1);
  assert.match(absent.stderr, /does not exist/);
});

test('wrong words: exit 2', async () => {
  for (const args of [
    ['bundle', 'build', '--payload', 'x', '--key', join(keys, 'sluice.key'), '--out', join(directory, 'no')],
    [
      'bundle',
      'build',
      '--payload',
      'oci:x',
      '--image',
      'web',
      '--key',
      join(keys, 'sluice.key'),
      '--out',
      'no',
    ],
    ['bundle', 'verify'],
    ['payload', 'build', '--version', '1.0', '--manifests', directory, '--out', 'oci:x:y'],
  ]) {
    const result = await sluice(...args);
    assert.equal(result.code, 2, `${args.join(' ')}: ${result.stderr}`);
  }
});

test('a payload is built and inspected on the command line', async () => {
  const args = [
    '--version',
    '1.2.0',
    '--previous',
    '1.1.0,1.1.1',
    '--manifests',
    join(directory, 'manifests-1.1.0', 'web'),
  ];
  const target = `oci:${join(directory, 'cli-payload')}:1.2.0`;
  const image = `web=${release.sources.get('web')}`;
  const built = await sluice('payload', 'build', ...args, '--image', image, '--out', target);
  assert.equal(built.code, 0, built.stderr);
  const shown = await sluice('payload', 'inspect', target);
  assert.match(shown.stdout, /Update from: 1\.1\.0, 1\.1\.1/);
  assert.match(shown.stdout, /^50 +web +Namespace +web +0000_50_web_namespace\.yaml$/m);
  const json = JSON.parse((await sluice('payload', 'inspect', target, '-o', 'json')).stdout);
  assert.equal(json.images[0].tag, 'web');
});

test('an ISO image is written and verified', needs('xorriso'), async () => {
  const out = join(directory, 'release.iso');
  const image = `web=${release.sources.get('web')}`;
  const key = join(keys, 'sluice.key');
  const built = await sluice(
    'bundle',
    'build',
    '--payload',
    release.payloadSource,
    '--image',
    image,
    '--key',
    key,
    '--out',
    out,
  );
  assert.equal(built.code, 0, built.stderr);
  const verified = await sluice('bundle', 'verify', out, '--key', join(keys, 'sluice.pub'));
  assert.equal(verified.code, 0, verified.stdout);
});

test('a delta and parts on the command line: what it needs is said at each step', async () => {
  const base = join(directory, 'base');
  const web = release.sources.get('web') ?? '';
  const args = ['--payload', release.payloadSource, '--key', join(keys, 'sluice.key')];
  const next = await makeRelease({
    version: '1.1.1',
    previous: ['1.1.0'],
    dir: directory,
    key: {
      privatePem: await readFile(join(keys, 'sluice.key'), 'utf8'),
      publicPem: await readFile(join(keys, 'sluice.pub'), 'utf8'),
    },
  });
  const shared = ['--image', `images.test.example/same/web:1=${next.sources.get('web')}`];
  const whole = await sluice('bundle', 'build', ...args, '--image', `web=${web}`, ...shared, '--out', base);
  assert.equal(whole.code, 0, whole.stderr);
  const delta = [
    '--payload',
    next.payloadSource,
    '--image',
    `web=${next.sources.get('web')}`,
    '--since',
    base,
  ];
  const out = join(directory, 'delta.tar');
  const built = await sluice(
    'bundle',
    'build',
    ...delta,
    '--key',
    join(keys, 'sluice.key'),
    '--out',
    out,
    '--split',
    '1M',
  );
  assert.equal(built.code, 0, built.stderr);
  assert.match(built.stdout, /needs ocp-release-bundle-1\.1\.0-x86_64 in the cluster/);
  const pub = ['--key', join(keys, 'sluice.pub')];
  for (const path of [`${out}.parts`, `${out}.000`, out]) {
    const verified = await sluice('bundle', 'verify', path, ...pub);
    assert.equal(verified.code, 0, verified.stderr);
    assert.match(
      verified.stdout,
      /not whole: \d+ blobs? .*must be in the cluster already, with ocp-release-bundle-1\.1\.0-x86_64/,
    );
  }
  const shown = JSON.parse((await sluice('bundle', 'inspect', `${out}.parts`, ...pub, '-o', 'json')).stdout);
  assert.equal(shown.bundles[0].delta.since[0].name, 'ocp-release-bundle-1.1.0-x86_64');
  // Without a key nothing is verified, and all is shown as the disk tells it: that it is not whole, too.
  for (const how of [pub, []])
    assert.match((await sluice('bundle', 'inspect', `${out}.parts`, ...how)).stdout, /^Delta: +not whole/m);

  const store = join(directory, 'delta-store');
  const preload = (path: string) => sluice('release', 'preload', path, '--root', store, ...pub);
  const refused = await preload(`${out}.parts`);
  assert.equal(refused.code, 6, refused.stdout);
  assert.match(
    refused.stderr,
    /is a delta: it needs ocp-release-bundle-1\.1\.0-x86_64, of which .*delta-store lacks \d+ blobs?/,
  );
  assert.match(refused.stderr, /next: .*ocp-release-bundle-1\.1\.0-x86_64.*first/);
  assert.ok(!existsSync(join(store, 'docker/registry/v2/repositories')));
  assert.equal((await preload(base)).code, 0);
  const filled = await preload(`${out}.parts`);
  assert.equal(filled.code, 0, filled.stderr);
});

test('words that cannot be meant end with 2', async () => {
  const args = [
    '--payload',
    release.payloadSource,
    '--key',
    join(keys, 'sluice.key'),
    '--out',
    join(directory, 'never'),
  ];
  for (const wrong of [
    ['--platform', 'amd64'],
    ['--split', '4'],
    ['--release-keyring', '/dev/null'],
    ['--image', 'web=ftp://x'],
  ]) {
    const result = await sluice('bundle', 'build', ...args, ...wrong);
    assert.equal(result.code, 2, `${wrong.join(' ')}: ${result.stderr}`);
  }
});
