import assert from 'node:assert/strict';
import {
  type ContractCase,
  configMap,
  configMaps,
  created,
  type Environment,
  type Loose,
} from './environment.ts';

const kinds = (events: Loose[]): string[] =>
  events.map((event) => `${event.type} ${event.object.metadata.name ?? ''}`.trim());

async function versionOf(env: Environment): Promise<string> {
  return (await env.request('GET', configMaps(env))).body.metadata.resourceVersion;
}

export const watchCases: readonly ContractCase[] = [
  {
    name: 'a watch from a version sees every change after it, in order',
    async run(env) {
      const resourceVersion = await versionOf(env);
      const object = await created(env, configMaps(env), configMap(env, 'x', { n: '0' }));
      let last = object;
      for (let n = 1; n <= 5; n += 1) {
        last = (await env.request('PUT', `${configMaps(env)}/x`, { body: { ...last, data: { n: `${n}` } } }))
          .body;
      }
      await env.request('DELETE', `${configMaps(env)}/x`);
      const query = { resourceVersion, fieldSelector: 'metadata.name=x' };
      const events = await env.watch(configMaps(env), query, 7);
      assert.deepEqual(kinds(events), ['ADDED x', ...Array(5).fill('MODIFIED x'), 'DELETED x']);
      const versions = events.map((event) => Number(event.object.metadata.resourceVersion));
      assert.deepEqual(
        [...versions].sort((a, b) => a - b),
        versions,
      );
      assert.equal(new Set(versions).size, versions.length);
    },
  },
  {
    name: 'watches that begin in the middle of writes miss nothing and see nothing twice',
    async run(env) {
      const resourceVersion = await versionOf(env);
      const labels = { stream: 'x' };
      const writer = (async () => {
        for (let n = 0; n < 40; n += 1) {
          await created(env, configMaps(env), { metadata: { name: `w${n}`, labels } });
        }
      })();
      const query = { resourceVersion, labelSelector: 'stream=x' };
      const watchers = [0, 1, 2, 3].map(async (at) => {
        await new Promise((resolve) => setTimeout(resolve, at * 20));
        return kinds(await env.watch(configMaps(env), query, 40, 20_000));
      });
      await writer;
      const expected = Array.from({ length: 40 }, (_, n) => `ADDED w${n}`);
      for (const seen of await Promise.all(watchers)) assert.deepEqual(seen, expected);
    },
  },
  {
    name: 'a watch without a version begins with what exists',
    async run(env) {
      await created(env, configMaps(env), configMap(env, 'there'));
      const events = await env.watch(configMaps(env), { fieldSelector: 'metadata.name=there' }, 1);
      assert.deepEqual(kinds(events), ['ADDED there']);
    },
  },
  {
    name: 'a watch with a selector sees objects enter and leave it',
    async run(env) {
      const resourceVersion = await versionOf(env);
      const merge = { 'content-type': 'application/merge-patch+json' };
      const patch = (labels: object) =>
        env.request('PATCH', `${configMaps(env)}/walker`, { body: { metadata: { labels } }, headers: merge });
      await created(env, configMaps(env), configMap(env, 'walker'));
      await patch({ room: 'in' });
      await patch({ other: 'x' });
      await patch({ room: 'out' });
      await patch({ room: 'in' });
      await env.request('DELETE', `${configMaps(env)}/walker`);
      const events = await env.watch(configMaps(env), { resourceVersion, labelSelector: 'room=in' }, 5);
      assert.deepEqual(
        events.map((event) => event.type),
        ['ADDED', 'MODIFIED', 'DELETED', 'ADDED', 'DELETED'],
      );
    },
  },
  {
    name: 'a watch of one namespace does not see another',
    async run(env) {
      const resourceVersion = await versionOf(env);
      const other = await env.client.create(env.client.kinds.Namespace, {
        metadata: { name: env.unique('other') },
      });
      await created(env, `/api/v1/namespaces/${other.metadata.name}/configmaps`, {
        metadata: { name: 'far' },
      });
      await created(env, configMaps(env), configMap(env, 'near'));
      const events = await env.watch(configMaps(env), { resourceVersion, labelSelector: '!x' }, 2, 1_500);
      const names = kinds(events).filter((name) => !name.includes('kube-root-ca'));
      assert.deepEqual(names, ['ADDED near']);
    },
  },
  {
    name: 'a watch ends after timeoutSeconds',
    async run(env) {
      const started = Date.now();
      await env.watch(
        configMaps(env),
        { resourceVersion: await versionOf(env), timeoutSeconds: 1 },
        1_000,
        20_000,
      );
      assert.ok(Date.now() - started < 15_000);
    },
  },
  {
    name: 'a deleted object is shown as it last was, at the version of its deletion',
    async run(env) {
      const resourceVersion = await versionOf(env);
      const object = await created(env, configMaps(env), configMap(env, 'last', { a: 'b' }));
      await env.request('DELETE', `${configMaps(env)}/last`);
      const [, deleted] = await env.watch(
        configMaps(env),
        { resourceVersion, fieldSelector: 'metadata.name=last' },
        2,
      );
      assert.equal(deleted.type, 'DELETED');
      assert.deepEqual(deleted.object.data, { a: 'b' });
      assert.ok(Number(deleted.object.metadata.resourceVersion) > Number(object.metadata.resourceVersion));
    },
  },
  {
    name: 'a streaming list ends with a bookmark that says so',
    async run(env) {
      await created(env, configMaps(env), configMap(env, 'streamed'));
      const query = {
        sendInitialEvents: true,
        resourceVersionMatch: 'NotOlderThan',
        allowWatchBookmarks: true,
        fieldSelector: 'metadata.name=streamed',
      };
      const [added, bookmark] = await env.watch(configMaps(env), query, 2, 15_000);
      assert.equal(added.object.metadata.name, 'streamed');
      assert.equal(bookmark.type, 'BOOKMARK');
      assert.equal(bookmark.object.metadata.annotations['k8s.io/initial-events-end'], 'true');
    },
  },
  {
    name: 'a watch as a table describes its columns once',
    async run(env) {
      await created(env, configMaps(env), { metadata: { name: 't1', labels: { t: '1' } } });
      await created(env, configMaps(env), { metadata: { name: 't2', labels: { t: '1' } } });
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
      const answer = await env.request('GET', configMaps(env), {
        query: { watch: true, timeoutSeconds: 1, labelSelector: 't=1' },
        headers: { accept },
      });
      const events = String(answer.body)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      assert.ok(events[0].object.columnDefinitions.length > 0);
      assert.equal(events[0].object.rows[0].cells[0], 't1');
      assert.ok(!events[1].object.columnDefinitions?.length);
    },
  },
];
