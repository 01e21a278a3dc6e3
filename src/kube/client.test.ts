import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Script, type ScriptedApi, startScriptedApi } from '../../tests/scripted-api.ts';
import { isSluiceError } from '../errors/error.ts';
import { silentLogger } from '../observe/log.ts';
import { createKubeClient } from './client.ts';
import { ApiError, isExpired, isNotFound } from './error.ts';
import { createInformer } from './informer.ts';

async function withApi(script: Script, body: (api: ScriptedApi) => Promise<void>): Promise<void> {
  const api = await startScriptedApi(script);
  try {
    await body(api);
  } finally {
    await api.close();
  }
}

const meta = (name: string, resourceVersion = '1') => ({ name, namespace: 'ns', resourceVersion, uid: name });

test('a read is tried again when its connection is cut, a write is not', async () => {
  let cuts = 2;
  await withApi(
    (met, answer) => {
      if (met.method === 'POST') return answer.cut();
      cuts -= 1;
      if (cuts >= 0) return answer.cut();
      answer.json({ metadata: meta('a') });
    },
    async ({ client, met }) => {
      const object = await client.get(client.kinds.ConfigMap, 'a', 'ns');
      assert.equal(object.metadata.name, 'a');
      assert.equal(met.length, 3);
      await assert.rejects(
        client.create(client.kinds.ConfigMap, { metadata: { name: 'a', namespace: 'ns' } }),
        (error) => isSluiceError(error, 'Unreachable'),
      );
      assert.equal(met.length, 4);
    },
  );
});

test('an answer that is cut in its middle is no answer: it is read again', async () => {
  let cuts = 1;
  await withApi(
    (_, answer) => {
      if (cuts > 0) {
        cuts -= 1;
        answer.response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
        answer.write('{"metadata":{"name":');
        setTimeout(() => answer.cut(), 20);
        return;
      }
      answer.json({ metadata: meta('a') });
    },
    async ({ client, met }) => {
      assert.equal((await client.get(client.kinds.ConfigMap, 'a', 'ns')).metadata.name, 'a');
      assert.equal(met.length, 2);
    },
  );
});

test('a server that does not answer in time is unreachable, with its address in the message', async () => {
  await withApi(
    () => {},
    async ({ client, url }) => {
      await assert.rejects(
        client.delete(client.kinds.ConfigMap, 'a', { namespace: 'ns', timeoutMs: 100 }),
        (error) => isSluiceError(error, 'Unreachable') && error.message.includes(new URL(url).host),
      );
    },
  );
});

test('errors carry the reason, the causes and the wait that the server asks for', async () => {
  await withApi(
    (met, answer) => {
      if (met.path.endsWith('/busy')) {
        answer.response.writeHead(429, { 'retry-after': '7', 'content-type': 'text/plain' });
        answer.write('too many requests');
        return answer.end();
      }
      answer.json(
        {
          kind: 'Status',
          status: 'Failure',
          reason: 'Invalid',
          message: 'nope is invalid',
          code: 422,
          details: { causes: [{ reason: 'FieldValueInvalid', message: 'bad', field: 'spec.x' }] },
        },
        422,
      );
    },
    async ({ client }) => {
      await assert.rejects(client.get(client.kinds.ConfigMap, 'a', 'ns'), (error) => {
        assert.ok(error instanceof ApiError);
        assert.equal(error.status, 422);
        assert.equal(error.reason, 'Invalid');
        assert.equal(error.code, 'InputInvalid');
        assert.deepEqual(error.causes, [{ field: 'spec.x', reason: 'FieldValueInvalid', message: 'bad' }]);
        assert.match(error.message, /^GET \/api\/v1\/namespaces\/ns\/configmaps\/a: nope is invalid$/);
        return true;
      });
      await assert.rejects(client.get(client.kinds.ConfigMap, 'busy', 'ns'), (error) => {
        assert.ok(error instanceof ApiError);
        assert.equal(error.reason, 'TooManyRequests');
        assert.equal(error.retryAfterSeconds, 7);
        return true;
      });
    },
  );
});

test('a page of a proxy instead of a Status is told as it is', async () => {
  await withApi(
    (_, answer) => {
      answer.response.writeHead(502, { 'content-type': 'text/html' });
      answer.write('<h1>Bad gateway</h1>');
      answer.end();
    },
    async ({ client }) => {
      await assert.rejects(client.get(client.kinds.Node, 'a'), /Bad gateway/);
    },
  );
});

test('a list reads every page, and its items say what they are', async () => {
  await withApi(
    (met, answer) => {
      const page = met.query.get('continue');
      assert.equal(met.query.get('limit'), '2');
      if (page === null) {
        answer.json({
          metadata: { resourceVersion: '9', continue: 'two' },
          items: [{ metadata: meta('a') }, { metadata: meta('b') }],
        });
      } else {
        assert.equal(page, 'two');
        answer.json({ metadata: { resourceVersion: '9' }, items: [{ metadata: meta('c') }] });
      }
    },
    async ({ client }) => {
      const list = await client.list(client.kinds.Job, { namespace: 'ns', pageSize: 2 });
      assert.deepEqual(
        list.items.map((item) => item.metadata.name),
        ['a', 'b', 'c'],
      );
      assert.equal(list.items[2]?.apiVersion, 'batch/v1');
      assert.equal(list.items[2]?.kind, 'Job');
      assert.equal(list.resourceVersion, '9');
    },
  );
});

test('a list without items is empty', async () => {
  await withApi(
    (_, answer) => answer.json({ metadata: { resourceVersion: '1' }, items: null }),
    async ({ client }) => assert.deepEqual((await client.list(client.kinds.Pod)).items, []),
  );
});

test('a watch that is cut in the middle of a line loses nothing: the informer goes on from the line before', async () => {
  const watches: (string | null)[] = [];
  const stop = new AbortController();
  await withApi(
    (met, answer) => {
      if (met.query.get('watch') === null) {
        return answer.json({ metadata: { resourceVersion: '5' }, items: [] });
      }
      watches.push(met.query.get('resourceVersion'));
      answer.begin();
      if (watches.length > 1) return answer.event('ADDED', { metadata: meta('b', '7') });
      answer.event('ADDED', { metadata: meta('a', '6') });
      answer.write('{"type":"ADDED","object":{"metadata":{"na');
      setTimeout(() => answer.cut(), 30);
    },
    async ({ client }) => {
      const informer = createInformer(client, client.kinds.ConfigMap, {
        logger: silentLogger,
        signal: stop.signal,
      });
      const both = new Promise<void>((resolve) => {
        informer.onChange(() => {
          if (informer.list().length === 2) resolve();
        });
      });
      informer.start();
      await both;
      assert.deepEqual(watches, ['5', '6']);
      assert.deepEqual(
        informer.list().map((object) => object.metadata.name),
        ['a', 'b'],
      );
      stop.abort();
    },
  );
});

test('410 as an event and 410 as an answer are both expired', async () => {
  await withApi(
    (met, answer) => {
      if (met.query.get('resourceVersion') === '1') return answer.fail(410, 'Expired', 'too old');
      answer.begin();
      answer.event('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' });
      answer.end();
    },
    async ({ client }) => {
      for (const resourceVersion of ['1', '2']) {
        await assert.rejects(async () => {
          for await (const _ of client.watch(client.kinds.Pod, { resourceVersion })) assert.fail('an event');
        }, isExpired);
      }
    },
  );
});

test('a watch sends what it wants, ends when told, and its connection with it', async () => {
  const stop = new AbortController();
  let closed = () => {};
  const whenClosed = new Promise<void>((resolve) => {
    closed = resolve;
  });
  await withApi(
    (met, answer) => {
      assert.equal(met.query.get('allowWatchBookmarks'), 'true');
      assert.equal(met.query.get('labelSelector'), 'a=b');
      assert.equal(met.query.get('timeoutSeconds'), '300');
      answer.response.on('close', closed);
      answer.begin();
      answer.event('BOOKMARK', { metadata: { resourceVersion: '8' } });
    },
    async ({ client }) => {
      const seen: unknown[] = [];
      await assert.rejects(
        async () => {
          for await (const event of client.watch(client.kinds.Pod, {
            labelSelector: 'a=b',
            signal: stop.signal,
          })) {
            seen.push(event);
            stop.abort();
          }
        },
        { name: 'AbortError' },
      );
      assert.deepEqual(seen, [{ type: 'BOOKMARK', resourceVersion: '8' }]);
      await whenClosed;
    },
  );
});

test('a body that stalls is given up', async () => {
  await withApi(
    (_, answer) => {
      answer.begin();
    },
    async ({ client }) => {
      await assert.rejects(client.podLog('ns', 'a', { timeoutMs: 100 }), (error) =>
        isSluiceError(error, 'Unreachable'),
      );
    },
  );
});

test('a log is bytes, and is cut at the limit', async () => {
  await withApi(
    (met, answer) => {
      assert.equal(met.path, '/api/v1/namespaces/ns/pods/a/log');
      assert.equal(met.query.get('container'), 'main');
      assert.equal(met.query.get('limitBytes'), '10');
      answer.response.writeHead(200, { 'content-type': 'text/plain' });
      answer.response.end(Buffer.from([0xff, 0xfe, ...Buffer.from('0123456789abcdef')]));
    },
    async ({ client }) => {
      const log = await client.podLog('ns', 'a', { container: 'main', bytesMax: 10 });
      assert.deepEqual([...log.subarray(0, 2)], [0xff, 0xfe]);
      assert.equal(log.length, 10);
    },
  );
});

test('an eviction that a budget forbids is an outcome, in the words of the API', async () => {
  await withApi(
    (met, answer) => {
      if (met.path.includes('/gone/')) return answer.fail(404, 'NotFound', 'no such pod');
      if (met.path.includes('/free/')) return answer.json({ kind: 'Status', status: 'Success' }, 201);
      answer.json(
        {
          kind: 'Status',
          status: 'Failure',
          reason: 'TooManyRequests',
          message: "Cannot evict pod as it would violate the pod's disruption budget.",
          code: 429,
          details: {
            retryAfterSeconds: 10,
            causes: [
              {
                reason: 'DisruptionBudget',
                message: 'The disruption budget web needs 2 healthy pods and has 2 currently',
              },
            ],
          },
        },
        429,
      );
    },
    async ({ client, met }) => {
      assert.deepEqual(await client.evict('ns', 'held', { uid: 'u' }), {
        outcome: 'Blocked',
        message: 'The disruption budget web needs 2 healthy pods and has 2 currently',
        retryAfterSeconds: 10,
      });
      assert.deepEqual(await client.evict('ns', 'gone'), { outcome: 'Gone' });
      assert.deepEqual(await client.evict('ns', 'free', { dryRun: true }), { outcome: 'Evicted' });
      assert.equal(met[0]?.path, '/api/v1/namespaces/ns/pods/held/eviction');
      assert.deepEqual(JSON.parse(met[0]?.body ?? '').deleteOptions, { preconditions: { uid: 'u' } });
      assert.equal(met[2]?.query.get('dryRun'), 'All');
    },
  );
});

test('patches: the type follows the shape, and can be named', async () => {
  await withApi(
    (_, answer) => answer.json({ metadata: meta('a') }),
    async ({ client, met }) => {
      const { ConfigMap } = client.kinds;
      await client.patch(ConfigMap, 'a', { data: { x: null } }, { namespace: 'ns' });
      await client.patch(ConfigMap, 'a', [{ op: 'remove', path: '/data/x' }], { namespace: 'ns' });
      await client.patch(client.kinds.Node, 'n', {}, { type: 'strategic', subresource: 'status' });
      assert.deepEqual(
        met.map((one) => [one.method, one.path, one.headers['content-type']]),
        [
          ['PATCH', '/api/v1/namespaces/ns/configmaps/a', 'application/merge-patch+json'],
          ['PATCH', '/api/v1/namespaces/ns/configmaps/a', 'application/json-patch+json'],
          ['PATCH', '/api/v1/nodes/n/status', 'application/strategic-merge-patch+json'],
        ],
      );
    },
  );
});

test('names with unusual characters stay one part of the path; no name leaves its place', async () => {
  await withApi(
    (_, answer) => answer.fail(404, 'NotFound', 'no'),
    async ({ client, met }) => {
      assert.equal(await client.tryGet(client.kinds.ClusterRole, 'system:node/..'), undefined);
      assert.equal(met[0]?.path, '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode%2F..');
      await assert.rejects(client.get(client.kinds.Node, '..'), /no name of an object/);
      await assert.rejects(client.get(client.kinds.Pod, 'a'), /needs a namespace/);
    },
  );
});

test('a kind that no table has is found by discovery, and asked for again while it is missing', async () => {
  let there = false;
  await withApi(
    (met, answer) => {
      assert.equal(met.path, '/apis/example.org/v1');
      if (!there) return answer.fail(404, 'NotFound', 'no');
      answer.json({
        resources: [
          { name: 'things', kind: 'Thing', namespaced: true },
          { name: 'things/status', kind: 'Thing', namespaced: true },
        ],
      });
    },
    async ({ client, met }) => {
      assert.equal(await client.resolveKind('example.org/v1', 'Thing'), undefined);
      there = true;
      const wanted = {
        kind: 'Thing',
        plural: 'things',
        group: 'example.org',
        version: 'v1',
        namespaced: true,
      };
      assert.deepEqual(await client.resolveKind('example.org/v1', 'Thing'), wanted);
      assert.deepEqual(await client.resolveKind('example.org/v1', 'Thing'), wanted);
      assert.equal(met.length, 2);
      assert.equal(await client.resolveKind('v1', 'Pod'), client.kinds.Pod);
    },
  );
});

test('a token file is read again when it changes', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-token-'));
  const tokenFile = join(directory, 'token');
  writeFileSync(tokenFile, 'one\n');
  await withApi(
    (_, answer) => answer.json({ metadata: meta('a') }),
    async ({ url, caPem, met }) => {
      const client = createKubeClient({ server: url, tls: { ca: caPem }, tokenFile, platform: 'standalone' });
      await client.get(client.kinds.Node, 'a');
      writeFileSync(tokenFile, 'two\n');
      utimesSync(tokenFile, 1, 1);
      await client.get(client.kinds.Node, 'a');
      rmSync(tokenFile);
      await client.get(client.kinds.Node, 'a');
      assert.deepEqual(
        met.map((one) => one.headers.authorization),
        ['Bearer one', 'Bearer two', 'Bearer two'],
      );
      await client.close();
    },
  );
  rmSync(directory, { recursive: true });
});

test('a token that is refused is read again, though the times of its file stand still', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-token-'));
  const tokenFile = join(directory, 'token');
  const put = (token: string) => {
    writeFileSync(tokenFile, token);
    utimesSync(tokenFile, 1, 1);
  };
  put('one');
  let good = 'one';
  await withApi(
    (met, answer) => {
      if (met.headers.authorization !== `Bearer ${good}`) return answer.fail(401, 'Unauthorized', 'expired');
      answer.json({ metadata: meta('a') });
    },
    async ({ url, caPem, met }) => {
      const client = createKubeClient({ server: url, tls: { ca: caPem }, tokenFile, platform: 'standalone' });
      const { Node } = client.kinds;
      await client.get(Node, 'a');
      put('two');
      good = 'two';
      // All of them, though the first that asks anew finds the new token; a write too: it did not take place.
      await Promise.all([
        client.get(Node, 'a'),
        client.get(Node, 'b'),
        client.create(Node, { metadata: { name: 'c' } }),
      ]);
      const count = met.length;
      good = 'three';
      await assert.rejects(
        client.get(Node, 'a'),
        (error) => error instanceof ApiError && error.status === 401,
      );
      assert.equal(met.length, count + 1, 'the same token is not tried twice');
      await client.close();
    },
  );
  rmSync(directory, { recursive: true });
});

test('an informer goes on through the rotation of its token', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-token-'));
  const tokenFile = join(directory, 'token');
  writeFileSync(tokenFile, 'one');
  let good = 'one';
  const stop = new AbortController();
  await withApi(
    (met, answer) => {
      if (met.headers.authorization !== `Bearer ${good}`) return answer.fail(401, 'Unauthorized', 'expired');
      if (met.query.get('watch') !== 'true')
        return answer.json({ metadata: { resourceVersion: '1' }, items: [] });
      const from = Number(met.query.get('resourceVersion'));
      answer.begin();
      answer.event('ADDED', { metadata: meta(`seen-${from}`, String(from + 1)) });
      if (from < 3) answer.end();
    },
    async ({ url, caPem }) => {
      const client = createKubeClient({ server: url, tls: { ca: caPem }, tokenFile, platform: 'standalone' });
      const informer = createInformer(client, client.kinds.ConfigMap, {
        logger: silentLogger,
        signal: stop.signal,
        random: () => 1,
      });
      const seen: string[] = [];
      const all = new Promise<void>((resolve) => {
        informer.onChange(({ object }) => {
          seen.push(object.metadata.name);
          if (seen.length === 1) {
            writeFileSync(tokenFile, 'two');
            good = 'two';
          }
          if (seen.length === 3) resolve();
        });
      });
      informer.start();
      await all;
      assert.deepEqual(seen, ['seen-1', 'seen-2', 'seen-3']);
      stop.abort();
      await client.close();
    },
  );
  rmSync(directory, { recursive: true });
});

test('a credential plugin is asked once, and again when what it gave is refused', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-exec-'));
  const script = join(directory, 'plugin.mjs');
  writeFileSync(
    script,
    `import { appendFileSync, readFileSync } from 'node:fs';
     appendFileSync('${directory}/asked', 'x');
     const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
     const count = readFileSync('${directory}/asked', 'utf8').length;
     console.log(JSON.stringify({ apiVersion: info.apiVersion, kind: 'ExecCredential', status: { token: process.env.PREFIX + count } }));`,
  );
  await withApi(
    (met, answer) => {
      if (met.headers.authorization === 'Bearer t1' && met.path.endsWith('/revoked')) {
        return answer.fail(401, 'Unauthorized', 'revoked');
      }
      answer.json({ metadata: meta('a') });
    },
    async ({ url, caPem, met }) => {
      const client = createKubeClient({
        server: url,
        tls: { ca: caPem },
        platform: 'standalone',
        exec: {
          command: process.execPath,
          args: [script],
          env: { PREFIX: 't' },
          apiVersion: 'client.authentication.k8s.io/v1',
          provideClusterInfo: false,
        },
      });
      await Promise.all([client.get(client.kinds.Node, 'a'), client.get(client.kinds.Node, 'b')]);
      await client.get(client.kinds.Node, 'revoked');
      assert.deepEqual(
        met.map((one) => one.headers.authorization),
        ['Bearer t1', 'Bearer t1', 'Bearer t1', 'Bearer t2'],
      );
      await client.close();
    },
  );
  rmSync(directory, { recursive: true });
});

test('tryGet is undefined for what does not exist, and delete says so', async () => {
  await withApi(
    (_, answer) => answer.fail(404, 'NotFound', 'no'),
    async ({ client }) => {
      assert.equal(await client.tryGet(client.kinds.Node, 'a'), undefined);
      assert.equal(await client.delete(client.kinds.Node, 'a'), false);
      await assert.rejects(client.get(client.kinds.Node, 'a'), isNotFound);
    },
  );
});

test('a server that no authority of ours signed is not spoken to', async () => {
  await withApi(
    (_, answer) => answer.json({}),
    async ({ url, met }) => {
      const client = createKubeClient({ server: url, tls: {}, platform: 'standalone' });
      await assert.rejects(client.get(client.kinds.Node, 'a'), (error) =>
        isSluiceError(error, 'Unreachable'),
      );
      assert.equal(met.length, 0);
      await client.close();
    },
  );
});
