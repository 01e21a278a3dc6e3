import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readWholeRecords } from '../src/copy/whole.ts';
import { systemCode } from '../src/errors/error.ts';
import { run } from '../src/process/run.ts';
import { makeRelease, testKey } from './bundles.ts';
import { copyScenario, largeBytes } from './copy-crash-scenario.ts';
import { assertWhole } from './whole-store.ts';

const program = join(import.meta.dirname, 'copy-crash-scenario.ts');
const blobBytes = 1024 * 1024;
const imageCount = 8;
/** Blobs that a copy reads at once (src/copy/run.ts); others of its workers wait for flushes of what they have read. */
const workers = 3;

test('kill -9 at every fault point of a copy: nothing bad is visible, and the second run reads at most one unfinished blob per worker again', async (t) => {
  const base = await mkdtemp(join(tmpdir(), 'sluice-copy-crash-'));
  t.after(() => rm(base, { recursive: true, force: true }));
  const key = testKey();
  const images = Object.fromEntries(Array.from({ length: imageCount }, (_, index) => [`part-${index}`, {}]));
  const release = await makeRelease({ version: '1.0.0', dir: base, key: key.pair, images, blobBytes });
  const keys = join(base, 'keys');
  await mkdir(keys);
  await writeFile(join(keys, 'test.pub'), key.pair.publicPem);
  const copyTo = (store: string) => ({
    media: release.path,
    name: release.name,
    store,
    keys,
    log: `${store}.reads`,
  });
  const inChild = async (store: string, environment: Record<string, string>) => {
    const { media, name, log } = copyTo(store);
    return await run(process.execPath, [program, media, name, store, keys, log], {
      env: { ...process.env, ...environment },
    });
  };

  const untouched = join(base, 'untouched');
  const passages = join(base, 'passages');
  const first = await inChild(untouched, { SLUICE_FAULT_LOG: passages });
  assert.equal(first.code, 0, first.stderr);
  const whole = await readBytes(untouched);
  assert.ok(whole >= imageCount * largeBytes);

  const counts = new Map<string, number>();
  for (const name of (await readFile(passages, 'utf8')).trim().split('\n')) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  for (const name of [
    'copy-chunk',
    'copy-blob-committed',
    'copy-manifest',
    'copy-before-record',
    'copy-whole',
  ]) {
    assert.ok(counts.has(name), `a copy passes ${name}`);
  }
  // The first, one in the middle, and the last but one: how many there are varies a little from run to run.
  const points = [...counts].flatMap(([name, count]) => {
    const nths = [1, Math.ceil(count / 2), count - 1].filter((nth) => nth >= 1);
    return [...new Set(nths)].map((nth) => `${name}:${nth}`);
  });
  let killedInMidCopy = 0;
  for (const point of points) {
    const store = join(base, `killed-${point.replace(':', '-')}`);
    const killed = await inChild(store, { SLUICE_FAULT: point });
    assert.equal(killed.signal, 'SIGKILL', `${point}: ${killed.stderr}`);
    await assertWhole(store);
    const isRecorded = (await readWholeRecords(store)).has(release.name);
    if (!isRecorded) assert.notEqual(point, 'copy-whole:1');
    const before = await readBytes(store);
    if (before > 0 && before < whole) killedInMidCopy += 1;
    await copyScenario(copyTo(store));
    await assertWhole(store);
    assert.ok((await readWholeRecords(store)).has(release.name), point);
    const again = (await readBytes(store)) - whole;
    assert.ok(
      again <= workers * (blobBytes + 64 * 1024),
      `${point}: ${again} bytes were read twice, of ${whole}`,
    );
    await rm(store, { recursive: true });
  }
  assert.ok(killedInMidCopy >= 1, 'some were killed while bytes came');
  t.diagnostic(`${points.length} points, ${killedInMidCopy} of them in mid-copy`);
});

/** All that was taken from the media for a store so far. */
async function readBytes(store: string): Promise<number> {
  try {
    const lines = (await readFile(`${store}.reads`, 'utf8')).trim().split('\n');
    return lines.reduce((sum, line) => sum + Number(line), 0);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 0; // Nothing was read yet.
    throw error;
  }
}
