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

test('a script is told as data which windows were opened and closed, and until when', async (t) => {
  const cluster = await startTestCluster();
  t.after(() => cluster.close());
  const { client, kubeconfig } = cluster;
  for (const name of ['master-0', 'master-1']) {
    await client.create(client.kinds.NodeUpdate, { metadata: { name }, spec: {} });
  }
  const window = async (...words: string[]) => {
    const ended = await run(join(repository, 'sluice'), ['window', ...words, '--kubeconfig', kubeconfig]);
    assert.equal(ended.code, 0, ended.stderr);
    assert.doesNotMatch(ended.stderr, /window (?:open|closed) on/);
    return ended.stdout;
  };
  const opened: unknown = JSON.parse(
    await window('open', '--until', '2090-01-01T04:00:00Z', '--once', '--nodes', 'master-1', '-o', 'json'),
  );
  assert.deepEqual(opened, [
    { node: 'master-1', state: 'open', window: { notAfter: '2090-01-01T04:00:00Z', once: true } },
  ]);
  const seen = JSON.parse(await window('status', '--nodes', 'master-1', '-o', 'json')) as unknown;
  assert.deepEqual(opened, seen);
  assert.equal(
    await window('open', '--until', '1h', '--all', '-o', 'name'),
    'nodeupdate/master-0\nnodeupdate/master-1\n',
  );
  assert.equal(await window('close', '--nodes', 'master-0', '-o', 'name'), 'nodeupdate/master-0\n');
  assert.deepEqual(JSON.parse(await window('close', '-o', 'json')), [{ node: 'master-1', state: 'closed' }]);
  assert.deepEqual(JSON.parse(await window('close', '-o', 'json')), []);
});
