import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../src/process/run.ts';
import { openStore } from '../src/store/store.ts';
import { storeScenario } from './store-crash-scenario.ts';
import { assertWhole } from './whole-store.ts';

const program = join(import.meta.dirname, 'store-crash-scenario.ts');

/** What a store shows, times left out. */
async function listing(root: string): Promise<string[]> {
  const paths = await readdir(join(root, 'docker'), { recursive: true, withFileTypes: true });
  return paths
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .sort();
}

test('kill -9 at every fault point of the store: what is visible is whole, and the second run completes', async (t) => {
  const base = await mkdtemp(join(tmpdir(), 'sluice-crash-'));
  t.after(() => rm(base, { recursive: true, force: true }));
  const log = join(base, 'passages');
  const untouched = join(base, 'untouched');
  const first = await run(process.execPath, [program, untouched], {
    env: { ...process.env, SLUICE_FAULT_LOG: log },
  });
  assert.equal(first.code, 0, first.stderr);
  const passages = (await readFile(log, 'utf8')).trim().split('\n');
  await assertWhole(untouched);
  const wanted = await listing(untouched);
  const names = new Set(passages);
  for (const name of [
    'store-blob-synced',
    'store-blob-renamed',
    'store-link-written',
    'store-tagged',
    'store-bound',
    'store-collect-blob',
  ]) {
    assert.ok(names.has(name), `the scenario passes ${name}`);
  }
  for (let nth = 1; nth <= passages.length; nth += 1) {
    const root = join(base, `killed-${nth}`);
    const where = `killed at passage ${nth}, ${passages[nth - 1]}`;
    const killed = await run(process.execPath, [program, root], {
      env: { ...process.env, SLUICE_FAULT: `*:${nth}` },
    });
    assert.equal(killed.signal, 'SIGKILL', `${where}: ${killed.stderr}`);
    await assertWhole(root);
    await storeScenario(root);
    await assertWhole(root);
    assert.deepEqual(await listing(root), wanted, where);
    const store = await openStore(root);
    await store.purgeStale(0);
    assert.deepEqual(await readdir(join(root, 'sluice/partial')), [], where);
    assert.deepEqual(await readdir(join(root, 'sluice/scratch')), [], where);
    await rm(root, { recursive: true });
  }
});
