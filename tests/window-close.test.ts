import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../src/process/run.ts';
import { startTestCluster } from './cluster.ts';
import { repository } from './tier.ts';

test('the windows that were open are closed and told, and where none was, that', async (t) => {
  const cluster = await startTestCluster();
  t.after(() => cluster.close());
  const { client, kubeconfig } = cluster;
  const windowAt = (hours: number) => ({
    window: { notAfter: `${new Date(Date.now() + hours * 3_600_000).toISOString().slice(0, 19)}Z` },
  });
  for (const [name, spec] of [
    ['open', windowAt(1)],
    ['ended', windowAt(-1)],
    ['never', {}],
  ] as const) {
    await client.create(client.kinds.NodeUpdate, { metadata: { name }, spec });
  }
  const close = async (...words: string[]) => {
    const program = join(repository, 'sluice');
    const ended = await run(program, ['window', 'close', '--kubeconfig', kubeconfig, ...words]);
    assert.equal(ended.code, 0, ended.stderr);
    return ended.stderr.trim().split('\n').slice(1);
  };
  assert.deepEqual(await close('--nodes', 'never,ended'), ['no window was open (--nodes never,ended)']);
  assert.deepEqual(await close(), ['window closed on open']);
  assert.deepEqual(await close(), ['no window was open on any node']);
  const { items } = await client.list(client.kinds.NodeUpdate);
  assert.deepEqual(
    items.map(({ spec }) => spec.window),
    [undefined, undefined, undefined],
  );
});
