import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { needs } from '../../tests/tier.ts';
import { readConfig } from '../oci/image.ts';
import { openLayout } from '../oci/layout.ts';
import { run, runOrThrow } from '../process/run.ts';
import { buildImage } from './image.ts';
import { writeKeys } from './keygen.ts';
import { parseLayoutTarget, parsePlace } from './target.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-image-'));
});
after(() => rm(directory, { recursive: true }));

const files = [
  { path: '/usr/bin/tool', mode: 0o755, data: '#!/bin/sh\n' },
  { path: 'etc/conf', data: 'x=1\n' },
  { path: '/usr/bin/alias', target: 'tool' },
];

test('the same files give the same image, whatever their order and wherever they are', async () => {
  const one = await buildImage({ out: { directory: join(directory, 'a'), reference: 'x' }, files });
  const two = await buildImage({
    out: { directory: join(directory, 'b'), reference: 'y' },
    files: [...files].reverse(),
  });
  assert.equal(one.digest, two.digest);
  const from = join(directory, 'conf');
  await writeFile(from, 'x=1\n', { mode: 0o600 });
  const three = await buildImage({
    out: { directory: join(directory, 'c'), reference: 'x' },
    files: [files[0], { path: '/etc/conf', from }, files[2]].filter((file) => file !== undefined),
  });
  assert.equal(three.digest, one.digest);
});

test('skopeo and tar read the image', needs('skopeo'), async () => {
  const out = { directory: join(directory, 'skopeo'), reference: 'tool' };
  const config = {
    entrypoint: ['/usr/bin/tool'],
    env: ['A=b'],
    labels: { k: 'v' },
    workingDir: '/w',
    user: '1001',
  };
  const descriptor = await buildImage({ out, files, config });
  const { stdout } = await runOrThrow('skopeo', ['inspect', `oci:${out.directory}:tool`]);
  const seen = JSON.parse(stdout);
  assert.equal(seen.Digest, descriptor.digest);
  assert.deepEqual(seen.Labels, { k: 'v' });
  const copied = await run('skopeo', [
    'copy',
    '--preserve-digests',
    `oci:${out.directory}:tool`,
    `dir:${join(directory, 'copied')}`,
  ]);
  assert.equal(copied.code, 0, copied.stderr);
  const layer = seen.Layers[0].slice(7);
  const list = await runOrThrow('tar', ['-tvzf', join(directory, 'copied', layer)]);
  assert.match(list.stdout, /^-rwxr-xr-x 0\/0 .* 1970-01-01 00:00 usr\/bin\/tool$/m);
  assert.match(list.stdout, /^lrwxrwxrwx .* usr\/bin\/alias -> tool$/m);
  assert.match(list.stdout, /^drwxr-xr-x .* usr\/$/m);
  const read = await readConfig(await openLayout(out.directory), 'any', descriptor.digest);
  assert.deepEqual([read.entrypoint, read.user, read.workingDir], [['/usr/bin/tool'], '1001', '/w']);
});

test('paths that leave the image, stand twice or go through a file are refused', async () => {
  const out = { directory: join(directory, 'bad'), reference: 'x' };
  for (const bad of [
    [{ path: '../x', data: '' }],
    [{ path: '/', data: '' }],
    [
      { path: '/a', data: '' },
      { path: 'a', data: '' },
    ],
    [
      { path: '/a', data: '' },
      { path: '/a/b', data: '' },
    ],
    [{ path: '/a', from: directory }],
  ]) {
    await assert.rejects(buildImage({ out, files: bad }), { code: 'InputInvalid' });
  }
  await assert.rejects(buildImage({ out, files: [{ path: '/a', from: join(directory, 'absent') }] }), {
    code: 'NotFound',
  });
});

test('places are read from their end, so that paths may hold colons', () => {
  assert.deepEqual(parsePlace('oci:/a/b:tag'), { kind: 'oci', path: '/a/b', reference: 'tag' });
  assert.deepEqual(parsePlace('oci:./a'), { kind: 'oci', path: './a', reference: '' });
  assert.deepEqual(parsePlace('oci-archive:/a:b/c.tar:1.0'), {
    kind: 'oci-archive',
    path: '/a:b/c.tar',
    reference: '1.0',
  });
  assert.deepEqual(parsePlace('oci:/a:b/c'), { kind: 'oci', path: '/a:b/c', reference: '' });
  for (const bad of ['oci:', '/a/b']) assert.throws(() => parsePlace(bad), { code: 'Usage' });
  assert.throws(() => parseLayoutTarget('oci:/a'), { code: 'Usage' });
  assert.throws(() => parseLayoutTarget('oci-archive:/a:x'), { code: 'Usage' });
});

test('keys are written once: secret, and never over others', async () => {
  const out = join(directory, 'new', 'keys');
  const written = await writeKeys(out);
  assert.equal((await stat(written.privatePath)).mode & 0o777, 0o600);
  const before = await readFile(written.privatePath, 'utf8');
  await assert.rejects(writeKeys(out), { code: 'Conflict', message: /sluice\.key exists/ });
  assert.equal(await readFile(written.privatePath, 'utf8'), before);
  // A lone public key is not overwritten either, and no private key without its half is left.
  await rm(written.privatePath);
  await assert.rejects(writeKeys(out), { code: 'Conflict', message: /sluice\.pub exists/ });
  await assert.rejects(stat(written.privatePath));
  const results = await Promise.allSettled([1, 2, 3, 4].map(() => writeKeys(join(directory, 'race'))));
  assert.equal(results.filter((each) => each.status === 'fulfilled').length, 1);
});

test('places of images are read as people write them', () => {
  assert.deepEqual(parsePlace(`docker://[::1]:5000/a/b@sha256:${'a'.repeat(64)}`), {
    kind: 'docker',
    image: { host: '[::1]:5000', repository: 'a/b', digest: `sha256:${'a'.repeat(64)}` },
  });
  assert.deepEqual(parsePlace('docker-archive:/x.tar:reg.example:5000/a:1'), {
    kind: 'docker-archive',
    path: '/x.tar',
    reference: 'reg.example:5000/a:1',
  });
  assert.deepEqual(parsePlace('media:/media/usb:1#openshift/release-images:4.21'), {
    kind: 'media',
    path: '/media/usb:1',
    repository: 'openshift/release-images',
    reference: '4.21',
  });
  for (const bad of ['docker://', 'docker://x', 'media:/x', 'media:#a', 'docker-archive:', 'http://x/y']) {
    assert.throws(
      () => parsePlace(bad),
      (error: { code: string }) => ['Usage', 'InputInvalid'].includes(error.code),
      bad,
    );
  }
});
