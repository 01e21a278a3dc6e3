import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { noise } from '../../tests/bundles.ts';
import { parseSplitSize, splitFile } from '../build/split.ts';
import { runOrThrow } from '../process/run.ts';
import { openTree, requireMedia } from './media.ts';
import { findPartList, openParts, parsePartList } from './parts.ts';

let directory: string;
const bytes = noise('parts', 3_500_000);
let written: string[];

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-parts-'));
  await writeFile(join(directory, 'temporary'), bytes);
  written = await splitFile(join(directory, 'temporary'), join(directory, 'x.tar'), 1024 * 1024);
});
after(() => rm(directory, { recursive: true }));

test('parts are read as the whole, and sha256sum checks them anywhere', async () => {
  assert.deepEqual((await readdir(directory)).sort(), [
    'x.tar.000',
    'x.tar.001',
    'x.tar.002',
    'x.tar.003',
    'x.tar.parts',
  ]);
  assert.equal(written[0], join(directory, 'x.tar.parts'));
  await runOrThrow('sha256sum', ['-c', 'x.tar.parts'], { cwd: directory });
  for (const path of [directory, ...written, join(directory, 'x.tar')]) {
    assert.equal(await findPartList(path), written[0], path);
    await requireMedia(path);
  }
  await assert.rejects(requireMedia(join(directory, 'y.tar')), { code: 'NotFound' });
  const device = await openParts(written[0] ?? '');
  assert.equal(device.size, bytes.length);
  for (const [offset, length] of [
    [0, bytes.length],
    [1_048_570, 20],
    [1_048_576, 1],
    [2_097_151, 1_048_580],
    [3_499_999, 1],
  ] as const) {
    assert.equal(
      Buffer.compare(await device.read(offset, length), bytes.subarray(offset, offset + length)),
      0,
    );
  }
  await assert.rejects(device.read(3_499_999, 2), { code: 'MediaLost' });
  await device.close();
});

test('a part that is missing or cut is named by its number', async () => {
  const copy = join(directory, 'copy');
  for (const path of written) await cp(path, join(copy, path.slice(directory.length)));
  const list = join(copy, 'x.tar.parts');
  await rename(join(copy, 'x.tar.002'), join(copy, 'elsewhere'));
  await assert.rejects(openParts(list), {
    code: 'MediaUnreadable',
    message: /part 3 of 4 is missing: x\.tar\.002/,
  });
  await rename(join(copy, 'elsewhere'), join(copy, 'x.tar.002'));
  await truncate(join(copy, 'x.tar.001'), 100);
  await assert.rejects(openParts(list), {
    code: 'MediaUnreadable',
    message: /part 2 of 4.*100 of 1048576 bytes/,
  });
  await cp(join(directory, 'x.tar.001'), join(copy, 'x.tar.001'));
  await truncate(join(copy, 'x.tar.000'), 100);
  await assert.rejects(openParts(list), {
    code: 'MediaUnreadable',
    message: /part 1 of 4, x\.tar\.000.*100 of 1048576 bytes/,
  });
  await writeFile(join(copy, 'y.tar.parts'), await readFile(list));
  await assert.rejects(findPartList(copy), { code: 'MediaUnreadable', message: /several/ });
  await rm(copy, { recursive: true });
});

test('the last part, whose size nothing tells, is named where it was cut', async (t) => {
  const own = join(directory, 'own');
  t.after(() => rm(own, { recursive: true }));
  await mkdir(join(own, 'files'), { recursive: true });
  await writeFile(join(own, 'files', 'noise'), bytes);
  await runOrThrow('tar', ['-cf', join(own, 'temporary'), '-C', join(own, 'files'), '.']);
  const [list = ''] = await splitFile(join(own, 'temporary'), join(own, 'z.tar'), 1024 * 1024);
  await (await openTree(list)).tree.close();
  await truncate(join(own, 'z.tar.003'), 1000);
  await assert.rejects(openTree(list), {
    code: 'MediaUnreadable',
    message: /part 4 of 4, z\.tar\.003, is not what was written.*\(1000 bytes\)/,
    next: /sha256sum -c z\.tar\.parts/,
  });
});

test('lists that cannot be meant are refused', () => {
  const hash = 'a'.repeat(64);
  for (const bad of [
    '',
    'x',
    `${hash}  x.001\n`,
    `${hash}  ../x.000\n`,
    `${hash}  a/x.000\n`,
    `${hash}  x.000\n${hash}  x.000\n`,
  ]) {
    assert.throws(() => parsePartList(bad, 'list'), { code: 'MediaUnreadable' });
  }
});

test('sizes are written as split takes them', () => {
  assert.equal(parseSplitSize('4G'), 4 * 1024 ** 3);
  assert.equal(parseSplitSize('700MiB'), 700 * 1024 ** 2);
  assert.equal(parseSplitSize('1048576'), 1024 * 1024);
  for (const bad of ['', '4', '0G', '-1G', '4X', '1.5G'])
    assert.throws(() => parseSplitSize(bad), { code: 'Usage' });
});
