import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeRelease, testKey } from '../../tests/bundles.ts';
import { finishFirstStart } from './first-start.ts';
import { ensureInstalled } from './install.ts';
import { upLayout } from './layout.ts';

/** A directory of `sluice up`, keys of two makers beside it, and releases of the first one. */
async function prepared(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-up-install-'));
  t.after(() => rm(directory, { recursive: true }));
  const maker = testKey('maker');
  const keys = { maker: join(directory, 'maker.pub'), other: join(directory, 'other.pub') };
  await writeFile(keys.maker, maker.trusted.publicPem);
  await writeFile(keys.other, testKey('other').trusted.publicPem);
  const layout = upLayout(join(directory, 'cluster'));
  const nodes = layout.nodes(1, 62);
  const said: string[] = [];
  const start = (release: string | undefined, keyFiles: readonly string[]) =>
    ensureInstalled(
      { release, keyFiles, say: (text) => said.push(text), signal: new AbortController().signal },
      layout,
      nodes,
    );
  /** The same name for other bytes: whoever has one of them has not the other. */
  const release = async (build: string, version = '1.0.0') => {
    const dir = join(directory, build);
    return (await makeRelease({ version, dir, key: maker.pair, images: { [build]: {} } })).path;
  };
  return { layout, keys, said, start, release };
}

test('a first start with a wrong key leaves no key to the next one', async (t) => {
  const { layout, keys, start, release } = await prepared(t);
  const path = await release('a');
  await assert.rejects(start(path, [keys.other]), { code: 'SignatureUntrusted', message: /trusted: other/ });
  await assert.rejects(start(path, []), { code: 'SignatureUntrusted', message: /no public key is trusted/ });
  assert.equal((await start(path, [keys.maker])).version, '1.0.0');
  assert.deepEqual(await readdir(layout.trustedKeys), ['maker.pub']);
});

test('a first start that was not finished gives way to one with another release, and goes on without one', async (t) => {
  const { layout, keys, said, start, release } = await prepared(t);
  const first = await start(await release('a'), [keys.maker]);
  await mkdir(layout.api);
  assert.deepEqual(await start(undefined, []), first);
  const path = await release('b');
  const second = await start(path, [keys.maker]);
  assert.notEqual(second.releaseImage, first.releaseImage);
  assert.ok(!existsSync(layout.api), 'the API of the first try is gone');
  assert.match(said.join('\n'), /the first start here was not finished, so this one begins anew/);
});

test('a first copy that was cut short goes on with what had come', async (t) => {
  const { layout, keys, start, release } = await prepared(t);
  const path = await release('a');
  await start(path, [keys.maker]);
  const [node] = layout.nodes(1, 62);
  assert.ok(node !== undefined);
  const before = await timesOfBlobs(node.store);
  assert.ok(before.size > 0);
  await start(path, [keys.maker]);
  assert.deepEqual(await timesOfBlobs(node.store), before, 'no blob was written anew');
});

/** By path below the store. */
async function timesOfBlobs(store: string): Promise<Map<string, number>> {
  const root = join(store, 'docker/registry/v2/blobs');
  const files = (await readdir(root, { recursive: true })).filter((name) => name.endsWith('/data')).sort();
  const times = files.map(
    async (name): Promise<[string, number]> => [name, (await stat(join(root, name))).mtimeMs],
  );
  return new Map(await Promise.all(times));
}

test('nothing of a cluster that has run is taken away', async (t) => {
  const { layout, keys, said, start, release } = await prepared(t);
  const first = await start(await release('a'), [keys.maker]);
  await mkdir(layout.api);
  await finishFirstStart(layout);
  const other = await release('b');
  assert.deepEqual(await start(other, [keys.maker]), first);
  assert.ok(existsSync(layout.api));
  // Nor where the record of its installation was lost.
  await rm(layout.installed);
  await assert.rejects(start(other, [keys.maker]), { code: 'Conflict' });
  await assert.rejects(start(other, [keys.maker]), { code: 'Conflict' });
  assert.ok(existsSync(layout.api));
  assert.doesNotMatch(said.join('\n'), /anew/);
});
