import assert from 'node:assert/strict';
import {
  assertFailure,
  type ContractCase,
  configMap,
  configMaps,
  created,
  type Environment,
} from './environment.ts';

const merge = { 'content-type': 'application/merge-patch+json' };
const json = { 'content-type': 'application/json-patch+json' };
const strategic = { 'content-type': 'application/strategic-merge-patch+json' };

const deployments = (env: Environment) => `/apis/apps/v1/namespaces/${env.namespace}/deployments`;

const deployment = (name: string) => ({
  metadata: { name },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        containers: [
          {
            name: 'one',
            image: 'example.com/one@sha256:00',
            env: [
              { name: 'A', value: '1' },
              { name: 'B', value: '2' },
            ],
          },
          { name: 'two', image: 'example.com/two@sha256:00' },
        ],
      },
    },
  },
});

export const patchCases: readonly ContractCase[] = [
  {
    name: 'a merge patch adds, replaces and removes members (RFC 7396)',
    async run(env) {
      await created(env, configMaps(env), configMap(env, 'm', { a: '1', b: '2' }));
      const answer = await env.request('PATCH', `${configMaps(env)}/m`, {
        body: { data: { a: null, b: '3', c: '4' } },
        headers: merge,
      });
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.body.data, { b: '3', c: '4' });
    },
  },
  {
    name: 'a patch with an old resourceVersion is a Conflict',
    async run(env) {
      const object = await created(env, configMaps(env), configMap(env, 'old', { a: '1' }));
      await env.request('PATCH', `${configMaps(env)}/old`, { body: { data: { a: '2' } }, headers: merge });
      const { resourceVersion } = object.metadata;
      const answer = await env.request('PATCH', `${configMaps(env)}/old`, {
        body: { metadata: { resourceVersion }, data: { a: '3' } },
        headers: merge,
      });
      assertFailure(answer, 409, 'Conflict');
    },
  },
  {
    name: 'a JSON patch applies its operations in order (RFC 6902)',
    async run(env) {
      await created(env, configMaps(env), configMap(env, 'j', { a: '1' }));
      const answer = await env.request('PATCH', `${configMaps(env)}/j`, {
        body: [
          { op: 'test', path: '/data/a', value: '1' },
          { op: 'add', path: '/data/b', value: '2' },
          { op: 'remove', path: '/data/a' },
        ],
        headers: json,
      });
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.body.data, { b: '2' });
    },
  },
  {
    name: 'a JSON patch whose test fails changes nothing',
    async run(env) {
      await created(env, configMaps(env), configMap(env, 'jt', { a: '1' }));
      const answer = await env.request('PATCH', `${configMaps(env)}/jt`, {
        body: [
          { op: 'test', path: '/data/a', value: 'other' },
          { op: 'replace', path: '/data/a', value: '2' },
        ],
        headers: json,
      });
      assertFailure(answer, 422, 'Invalid');
      assert.deepEqual((await env.request('GET', `${configMaps(env)}/jt`)).body.data, { a: '1' });
    },
  },
  {
    name: 'a strategic patch merges containers by name and env by name',
    async run(env) {
      await created(env, deployments(env), deployment('s'));
      const answer = await env.request('PATCH', `${deployments(env)}/s`, {
        body: {
          spec: { template: { spec: { containers: [{ name: 'one', env: [{ name: 'B', value: '9' }] }] } } },
        },
        headers: strategic,
      });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      const [one, two] = answer.body.spec.template.spec.containers;
      assert.equal(one.image, 'example.com/one@sha256:00');
      assert.deepEqual(one.env, [
        { name: 'A', value: '1' },
        { name: 'B', value: '9' },
      ]);
      assert.equal(two.name, 'two');
    },
  },
  {
    name: 'a strategic patch deletes a member of a list by $patch',
    async run(env) {
      await created(env, deployments(env), deployment('sd'));
      const answer = await env.request('PATCH', `${deployments(env)}/sd`, {
        body: { spec: { template: { spec: { containers: [{ name: 'two', $patch: 'delete' }] } } } },
        headers: strategic,
      });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.spec.template.spec.containers.length, 1);
    },
  },
  {
    name: 'a strategic patch orders a list by $setElementOrder',
    async run(env) {
      await created(env, deployments(env), deployment('so'));
      const spec = {
        containers: [{ name: 'zero', image: 'example.com/z@sha256:00' }],
        '$setElementOrder/containers': [{ name: 'zero' }, { name: 'two' }, { name: 'one' }],
      };
      const answer = await env.request('PATCH', `${deployments(env)}/so`, {
        body: { spec: { template: { spec } } },
        headers: strategic,
      });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.deepEqual(
        answer.body.spec.template.spec.containers.map((container: { name: string }) => container.name),
        ['zero', 'two', 'one'],
      );
    },
  },
  {
    name: 'a merge patch replaces a whole list',
    async run(env) {
      await created(env, deployments(env), deployment('ml'));
      const containers = [{ name: 'only', image: 'example.com/o@sha256:00' }];
      const answer = await env.request('PATCH', `${deployments(env)}/ml`, {
        body: { spec: { template: { spec: { containers } } } },
        headers: merge,
      });
      assert.equal(answer.body.spec.template.spec.containers.length, 1);
    },
  },
  {
    name: 'a patch of an unknown type is refused',
    async run(env) {
      await created(env, configMaps(env), configMap(env, 'u'));
      const answer = await env.request('PATCH', `${configMaps(env)}/u`, {
        body: {},
        headers: { 'content-type': 'text/plain' },
      });
      assertFailure(answer, 415, 'UnsupportedMediaType');
    },
  },
  {
    name: 'a patch of what does not exist is NotFound',
    async run(env) {
      const answer = await env.request('PATCH', `${configMaps(env)}/none`, {
        body: { data: {} },
        headers: merge,
      });
      assertFailure(answer, 404, 'NotFound');
    },
  },
  {
    name: 'a patch whose outcome is no object of the kind is Invalid, of the field patch',
    async run(env) {
      await created(env, configMaps(env), configMap(env, 'whole', { a: 'b' }));
      const json = { 'content-type': 'application/json-patch+json' };
      const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
      for (const [body, headers] of [
        [{ data: { a: 1 } }, merge],
        [{ data: { a: 1 } }, strategic],
        [[{ op: 'replace', path: '/data/a', value: 1 }], json],
        [{ kind: 'Pod' }, merge],
        [{ apiVersion: 'v2' }, merge],
      ] as const) {
        const answer = await env.request('PATCH', `${configMaps(env)}/whole`, { body, headers });
        assertFailure(answer, 422, 'Invalid', /^ "" is invalid: patch: Invalid value: /);
        assert.equal(answer.body.details.causes[0].field, 'patch');
      }
    },
  },
  {
    name: 'a patch cannot change who an object is',
    async run(env) {
      await created(env, configMaps(env), configMap(env, 'same', { a: 'b' }));
      const patch = (metadata: object | null) =>
        env.request('PATCH', `${configMaps(env)}/same`, { body: { metadata }, headers: merge });
      const immutable = async (metadata: object, field: string) => {
        const answer = await patch(metadata);
        assertFailure(answer, 422, 'Invalid', /field is immutable/);
        assert.equal(answer.body.details.causes[0].field, field);
      };
      await immutable({ uid: 'other' }, 'metadata.uid');
      await immutable({ deletionTimestamp: '2020-01-01T00:00:00Z' }, 'metadata.deletionTimestamp');
      const message = 'the name of the object (same based on URL) was undeterminable: name must be provided';
      for (const metadata of [null, { name: null }]) {
        const answer = await patch(metadata);
        assertFailure(answer, 400, 'BadRequest');
        assert.equal(answer.body.message, message);
      }
      assertFailure(await patch({ name: 'else' }), 400, 'BadRequest', /does not match the name on the URL/);
      const ignored = await patch({
        creationTimestamp: '2020-01-01T00:00:00Z',
        generation: 7,
        selfLink: '/x',
      });
      assert.equal(ignored.status, 200);
      assert.equal(ignored.body.metadata.generation, undefined);
    },
  },
  {
    name: 'an update without a name is refused, and one of another uid is a Conflict',
    async run(env) {
      const object = await created(env, configMaps(env), configMap(env, 'named'));
      const put = (metadata: object) =>
        env.request('PUT', `${configMaps(env)}/named`, { body: { ...object, metadata } });
      assertFailure(await put({}), 400, 'BadRequest', /undeterminable: name must be provided/);
      const other = await put({ ...object.metadata, uid: 'other' });
      assertFailure(other, 409, 'Conflict', /Precondition failed: UID in precondition: other/);
    },
  },
];
