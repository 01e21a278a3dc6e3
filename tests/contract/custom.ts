import assert from 'node:assert/strict';
import { assertFailure, type ContractCase, created, type Environment, type Loose } from './environment.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const merge = { 'content-type': 'application/merge-patch+json' };

function definition(group: string): Loose {
  return {
    metadata: { name: `gizmos.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind: 'Gizmo', plural: 'gizmos', singular: 'gizmo', shortNames: ['gz'] },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: {
            status: {},
            scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
          },
          additionalPrinterColumns: [
            { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
            { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
            { name: 'Since', type: 'date', jsonPath: '.metadata.creationTimestamp' },
          ],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  properties: {
                    size: { type: 'string', enum: ['small', 'large'], default: 'small' },
                    replicas: { type: 'integer', minimum: 0 },
                  },
                },
                status: {
                  type: 'object',
                  properties: {
                    replicas: { type: 'integer' },
                    conditions: {
                      type: 'array',
                      items: {
                        type: 'object',
                        properties: { type: { type: 'string' }, status: { type: 'string' } },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      ],
    },
  };
}

/** A Gizmo as the path wants it. */
function gizmo(path: string, name: string, more: object = {}): Loose {
  const [, , group, version] = path.split('/');
  return { apiVersion: `${group}/${version}`, kind: 'Gizmo', metadata: { name }, ...more };
}

/** Defines a kind of its own and waits until it is served. */
async function gizmos(env: Environment): Promise<string> {
  const group = `${env.unique('g')}.example.com`;
  await created(env, definitions, definition(group));
  const path = `/apis/${group}/v1/namespaces/${env.namespace}/gizmos`;
  for (let tries = 0; tries < 100; tries += 1) {
    if ((await env.request('GET', path)).status === 200) return path;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${group} was not served`);
}

export const customCases: readonly ContractCase[] = [
  {
    name: 'a definition is established and served',
    async run(env) {
      const path = await gizmos(env);
      const group = path.split('/')[2];
      const { body } = await env.request('GET', `${definitions}/gizmos.${group}`);
      const established = body.status.conditions.find((condition: Loose) => condition.type === 'Established');
      assert.equal(established.status, 'True');
      assert.deepEqual(body.status.storedVersions, ['v1']);
      assert.equal(body.status.acceptedNames.kind, 'Gizmo');
      const resources = await env.request('GET', `/apis/${group}/v1`);
      assert.ok(resources.body.resources.some((resource: Loose) => resource.name === 'gizmos'));
    },
  },
  {
    name: 'custom objects are created, read and listed',
    async run(env) {
      const path = await gizmos(env);
      const object = await created(env, path, gizmo(path, 'one', { spec: { size: 'large' } }));
      assert.equal(object.kind, 'Gizmo');
      assert.equal(object.metadata.generation, 1);
      const { body } = await env.request('GET', path);
      assert.equal(body.kind, 'GizmoList');
      assert.equal(body.items.length, 1);
      assert.equal(body.items[0].kind, 'Gizmo');
    },
  },
  {
    name: 'a custom object without its kind is refused',
    async run(env) {
      const path = await gizmos(env);
      const answer = await env.request('POST', path, { body: { metadata: { name: 'nameless' } } });
      assertFailure(answer, 400, 'BadRequest', /must be of type Gizmo\): Object 'Kind' is missing in/);
    },
  },
  {
    name: 'fields that the schema does not name are pruned',
    async run(env) {
      const path = await gizmos(env);
      const object = await created(
        env,
        path,
        gizmo(path, 'pruned', { spec: { size: 'large', color: 'red' } }),
      );
      assert.equal(object.spec.color, undefined);
    },
  },
  {
    name: 'fields that the schema does not name are refused where that is asked for',
    async run(env) {
      const path = await gizmos(env);
      const answer = await env.request('POST', path, {
        body: gizmo(path, 'strict', { spec: { color: 'red' } }),
        query: { fieldValidation: 'Strict' },
      });
      assertFailure(answer, 400, 'BadRequest', /unknown field "spec.color"/);
    },
  },
  {
    name: 'fields that the schema does not name are warned of where that is asked for',
    async run(env) {
      const path = await gizmos(env);
      const answer = await env.request('POST', path, {
        body: gizmo(path, 'warned', { spec: { color: 'red' } }),
        query: { fieldValidation: 'Warn' },
      });
      assert.equal(answer.status, 201);
      assert.match(String(answer.headers.warning), /unknown field \\"spec.color\\"/);
    },
  },
  {
    name: 'defaults of the schema are filled in',
    async run(env) {
      const path = await gizmos(env);
      const object = await created(env, path, gizmo(path, 'defaulted', { spec: {} }));
      assert.equal(object.spec.size, 'small');
    },
  },
  {
    name: 'values that the schema forbids are invalid, with causes',
    async run(env) {
      const path = await gizmos(env);
      const body = gizmo(path, 'bad', { spec: { size: 'huge', replicas: -1 } });
      const answer = await env.request('POST', path, { body });
      assertFailure(answer, 422, 'Invalid', /spec.size: Unsupported value: "huge"/);
      const fields = answer.body.details.causes.map((cause: Loose) => cause.field).sort();
      assert.deepEqual(fields, ['.spec.replicas', 'spec.replicas', 'spec.size']);
    },
  },
  {
    name: 'status is written through its subresource alone',
    async run(env) {
      const path = await gizmos(env);
      const more = { spec: { replicas: 1 }, status: { replicas: 9 } };
      const object = await created(env, path, gizmo(path, 's', more));
      assert.equal(object.status, undefined);
      const ignored = await env.request('PATCH', `${path}/s`, {
        body: { status: { replicas: 5 } },
        headers: merge,
      });
      assert.equal(ignored.body.status, undefined);
      const written = await env.request('PATCH', `${path}/s/status`, {
        body: { spec: { replicas: 7 }, status: { replicas: 5 } },
        headers: merge,
      });
      assert.equal(written.body.status.replicas, 5);
      assert.equal(written.body.spec.replicas, 1);
      assert.equal(written.body.metadata.generation, 1);
      const spec = await env.request('PATCH', `${path}/s`, {
        body: { spec: { replicas: 2 } },
        headers: merge,
      });
      assert.equal(spec.body.metadata.generation, 2);
      assert.equal(spec.body.status.replicas, 5);
    },
  },
  {
    name: 'an update of a custom object must name the version',
    async run(env) {
      const path = await gizmos(env);
      const body = gizmo(path, 'u', { spec: { replicas: 1 } });
      await created(env, path, body);
      const answer = await env.request('PUT', `${path}/u`, { body });
      assertFailure(answer, 422, 'Invalid', /must be specified for an update/);
    },
  },
  {
    name: 'a strategic patch of a custom object is refused',
    async run(env) {
      const path = await gizmos(env);
      await created(env, path, gizmo(path, 'p'));
      const answer = await env.request('PATCH', `${path}/p`, {
        body: {},
        headers: { 'content-type': 'application/strategic-merge-patch+json' },
      });
      assertFailure(answer, 415, 'UnsupportedMediaType');
    },
  },
  {
    name: 'the table of a custom kind has the columns of its definition',
    async run(env) {
      const path = await gizmos(env);
      await created(env, path, gizmo(path, 't', { spec: { replicas: 3 } }));
      await env.request('PATCH', `${path}/t/status`, {
        body: { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
        headers: merge,
      });
      const { body } = await env.request('GET', path, {
        headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
      });
      assert.equal(body.kind, 'Table');
      assert.deepEqual(
        body.columnDefinitions.map((column: Loose) => column.name),
        ['Name', 'Ready', 'Replicas', 'Since'],
      );
      const [name, ready, replicas, since] = body.rows[0].cells;
      assert.deepEqual([name, ready, replicas], ['t', 'True', 3]);
      assert.match(since, /^\d+s$/);
      assert.equal(body.rows[0].object.kind, 'PartialObjectMetadata');
    },
  },
  {
    name: 'a custom kind can be scaled',
    async run(env) {
      const path = await gizmos(env);
      await created(env, path, gizmo(path, 'sc', { spec: { replicas: 3 } }));
      const scale = await env.request('GET', `${path}/sc/scale`);
      assert.equal(scale.body.kind, 'Scale');
      assert.equal(scale.body.spec.replicas, 3);
      const scaled = await env.request('PATCH', `${path}/sc/scale`, {
        body: { spec: { replicas: 5 } },
        headers: merge,
      });
      assert.equal(scaled.body.spec.replicas, 5);
      assert.equal((await env.request('GET', `${path}/sc`)).body.spec.replicas, 5);
    },
  },
  {
    name: 'deleting a definition deletes its objects and ends the service',
    async run(env) {
      const path = await gizmos(env);
      const group = path.split('/')[2];
      await created(env, path, gizmo(path, 'doomed'));
      await env.request('DELETE', `${definitions}/gizmos.${group}`);
      for (let tries = 0; tries < 200; tries += 1) {
        if ((await env.request('GET', path)).status === 404) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      assert.fail('the kind was still served');
    },
  },
  {
    name: 'a definition whose schema is not structural is invalid',
    async run(env) {
      const group = `${env.unique('g')}.example.com`;
      const bad = definition(group);
      bad.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.size = { enum: ['a'] };
      assertFailure(await env.request('POST', definitions, { body: bad }), 422, 'Invalid');
    },
  },
];
