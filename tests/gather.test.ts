import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { appendFileSync, globSync, readFileSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Secret } from '../src/api/core.ts';
import type { KubeClient } from '../src/kube/client.ts';
import { recordEvent } from '../src/kube/events.ts';
import { runOrThrow } from '../src/process/run.ts';
import { type OneNode, startOneNode } from './one-node.ts';
import { repository } from './tier.ts';

const program = join(repository, 'sluice');
/** What nobody must find again, in all the places where careless people and programs put secrets. */
const planted = randomBytes(18).toString('hex');
let directory: string;
let cluster: string;
let up: OneNode;
let secrets: Secret[];
let client: KubeClient;

before(async () => {
  up = await startOneNode();
  ({ directory, cluster, client } = up);
  const { kinds } = client;
  const namespace = 'openshift-config';
  await client.create(kinds.Secret, {
    metadata: { name: 'planted', namespace },
    stringData: { password: planted },
  });
  await client.create(kinds.ConfigMap, {
    metadata: { name: 'careless', namespace },
    data: { 'app.conf': `connect to db with ${planted} please` },
  });
  const [node] = (await client.list(kinds.Node)).items;
  assert.ok(node !== undefined);
  const facts = { type: 'Warning', reason: 'Careless', message: `tried ${planted}` } as const;
  await recordEvent(client, { kind: kinds.Node, object: node, ...facts, component: 'test' });
  appendFileSync(join(cluster, 'logs', 'careless.log'), `{"msg":"logged in with ${planted}"}\n`);
  secrets = (await client.list(kinds.Secret)).items;
});
after(() => up.close());

async function gather(name: string, ...words: string[]) {
  const out = join(directory, `${name}.tar.gz`);
  const place = join(directory, name);
  const given = ['--out', out, '--dir', cluster, '--kubeconfig', join(cluster, 'kubeconfig'), '-o', 'json'];
  const { stdout, stderr } = await runOrThrow(program, ['gather', ...given, ...words], {
    timeoutMs: 180_000,
  });
  await mkdir(place);
  await runOrThrow('tar', ['-xzf', out, '-C', place, '--strip-components=1']);
  const paths = globSync('**', { cwd: place, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(place.length + 1));
  const texts = paths.map((path) => readFileSync(join(place, path), 'utf8')).join('\n');
  assert.equal(statSync(out).mode & 0o777, 0o600);
  return { facts: JSON.parse(stdout), paths, texts, stderr };
}

/** Everything that opens something in this cluster. */
function keysOfCluster(): string[] {
  const values = secrets.flatMap((secret) => Object.values(secret.data ?? {}));
  const decoded = values.map((value) => Buffer.from(value, 'base64').toString('utf8'));
  const files = globSync(join(cluster, '**', '*.key')).map((path) => readFileSync(path, 'utf8'));
  const auth = JSON.parse(readFileSync(join(cluster, 'auth.json'), 'utf8')) as {
    auths: Record<string, { auth: string }>;
  };
  const auths = Object.values(auth.auths).flatMap((each) => [
    each.auth,
    Buffer.from(each.auth, 'base64').toString(),
  ]);
  const kubeconfig = readFileSync(join(cluster, 'kubeconfig'), 'utf8');
  const inline = [...kubeconfig.matchAll(/(?:client-key-data|token): (\S+)/g)].map((match) => match[1] ?? '');
  return [...values, ...decoded, ...files, ...auths, ...inline, planted].filter((value) => value.length >= 8);
}

function assertNone(texts: string): void {
  const keys = keysOfCluster();
  assert.ok(keys.length > 10, `${keys.length} secrets`);
  for (const key of keys) {
    // Of a certificate, which a TLS secret has too, nothing is secret; of a key each line is.
    if (key.includes('BEGIN CERTIFICATE')) continue;
    const lines = key.split('\n').filter((line) => line.length >= 16 && !line.startsWith('-----'));
    for (const part of [key, ...lines])
      assert.ok(!texts.includes(part), `a secret is in it: ${part.slice(0, 6)}…`);
  }
  assert.doesNotMatch(texts, /PRIVATE KEY-----\n/);
}

test('objects, events, logs, configuration and versions are in it, and no secret of the cluster', async () => {
  const { facts, paths, texts, stderr } = await gather('whole');
  for (const path of [
    'gather.json',
    'cluster/version.txt',
    'cluster/clusterversions.yaml',
    'cluster/nodes.yaml',
    'cluster/nodeupdates.yaml',
    'cluster/events.yaml',
    'cluster/secrets-without-their-content.yaml',
    'cluster/namespaces/openshift-config/configmaps.yaml',
    'up/state.json',
    'up/logs/controller.log',
    'up/logs/apiserver.log',
    'up/nodes/master-0/agent/finalization.json',
    'up/nodes/master-0/agent/content.json',
    'host/uname-a.txt',
  ]) {
    assert.ok(paths.includes(path), `${path} is not among ${paths.join(' ')}\n${stderr}`);
  }
  assert.ok(texts.includes('connect to db with [removed] please'));
  assert.ok(texts.includes('tried [removed]'));
  assert.ok(texts.includes('logged in with [removed]'));
  assert.match(texts, /name: planted/);
  assertNone(texts);
  assert.deepEqual(
    facts.misses.filter(({ what }: { what: string }) => what.startsWith('cluster')),
    [],
  );
});

test('what would be too much is left out, and named', async () => {
  appendFileSync(join(cluster, 'logs', 'long.log'), 'a line of a long log\n'.repeat(100_000));
  const { facts, texts } = await gather('small', '--max-size', '1M');
  assert.ok(facts.bytes <= 1024 * 1024);
  assert.ok(facts.misses.some(({ why }: { why: string }) => /more than 1048576 bytes/.test(why)));
  assertNone(texts);
});

test('without the API it collects what the host has', async () => {
  await runOrThrow(program, ['up', 'stop', '--dir', cluster], { timeoutMs: 100_000 });
  const { facts, paths, texts } = await gather('down');
  assert.ok(facts.misses.some(({ what }: { what: string }) => what === 'cluster'));
  assert.ok(paths.includes('up/logs/controller.log'));
  assert.ok(!paths.some((path) => path.startsWith('cluster/')));
  // Nobody tells of the Secrets now: what lies on the disk, and what has the form of a secret, is known still.
  assertNone(texts.replaceAll(planted, ''));
});
