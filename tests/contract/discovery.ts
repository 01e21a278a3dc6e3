import assert from 'node:assert/strict';
import { assertFailure, type ContractCase, configMaps, created, type Loose } from './environment.ts';

const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

async function columns(request: () => Promise<{ body: Loose }>): Promise<string[]> {
  const { body } = await request();
  assert.equal(body.kind, 'Table', JSON.stringify(body));
  return body.columnDefinitions.map((column: Loose) => column.name);
}

/** Discovery, versions, tables of built-in kinds, who may ask. */
export const discoveryCases: readonly ContractCase[] = [
  {
    name: '/version, /healthz, /livez and /readyz answer anyone',
    async run(env) {
      assert.equal((await env.anonymous('GET', '/version')).body.major, '1');
      for (const path of ['/healthz', '/livez', '/readyz']) {
        assert.equal((await env.anonymous('GET', path)).body, 'ok');
      }
    },
  },
  {
    name: 'a wrong bearer token is Unauthorized',
    async run(env) {
      const answer = await env.anonymous('GET', '/api/v1/namespaces', {
        headers: { authorization: 'Bearer wrong' },
      });
      assertFailure(answer, 401, 'Unauthorized');
    },
  },
  {
    name: 'nobody in particular may not read',
    async run(env) {
      const answer = await env.anonymous('GET', '/api/v1/namespaces');
      assert.ok([401, 403].includes(answer.status));
    },
  },
  {
    name: '/api and /apis list groups and versions',
    async run(env) {
      assert.deepEqual((await env.request('GET', '/api')).body.versions, ['v1']);
      const { body } = await env.request('GET', '/apis');
      assert.equal(body.kind, 'APIGroupList');
      const names = body.groups.map((group: Loose) => group.name);
      for (const name of ['apps', 'batch', 'policy', 'coordination.k8s.io', 'apiextensions.k8s.io']) {
        assert.ok(names.includes(name), name);
      }
    },
  },
  {
    name: '/api/v1 lists resources with their verbs and subresources',
    async run(env) {
      const { body } = await env.request('GET', '/api/v1');
      assert.equal(body.kind, 'APIResourceList');
      const byName = new Map<string, Loose>(
        body.resources.map((resource: Loose) => [resource.name, resource]),
      );
      assert.deepEqual(byName.get('configmaps').shortNames, ['cm']);
      assert.deepEqual([...byName.get('configmaps').verbs].sort(), [
        'create',
        'delete',
        'deletecollection',
        'get',
        'list',
        'patch',
        'update',
        'watch',
      ]);
      assert.equal(byName.get('pods/eviction').kind, 'Eviction');
      assert.equal(byName.get('namespaces').namespaced, false);
      for (const name of [
        'pods/log',
        'pods/binding',
        'pods/status',
        'serviceaccounts/token',
        'namespaces/finalize',
      ]) {
        assert.ok(byName.has(name), name);
      }
    },
  },
  {
    name: 'an unknown group or version is NotFound',
    async run(env) {
      assert.equal((await env.request('GET', '/apis/nothing.example.com')).status, 404);
      assert.equal((await env.request('GET', '/apis/apps/v7')).status, 404);
    },
  },
  {
    name: 'aggregated discovery lists everything in two requests',
    async run(env) {
      const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
      const answer = await env.request('GET', '/apis', { headers: { accept } });
      assert.match(
        String(answer.headers['content-type']),
        /g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList/,
      );
      const apps = answer.body.items.find((group: Loose) => group.metadata.name === 'apps');
      const deployments = apps.versions[0].resources.find(
        (resource: Loose) => resource.resource === 'deployments',
      );
      assert.equal(deployments.scope, 'Namespaced');
      assert.ok(deployments.subresources.some((subresource: Loose) => subresource.subresource === 'status'));
    },
  },
  {
    name: 'tables of built-in kinds have the columns of kubectl',
    async run(env) {
      const get = (path: string) => () => env.request('GET', path, { headers: table });
      assert.deepEqual(await columns(get(configMaps(env))), ['Name', 'Data', 'Age']);
      assert.deepEqual(await columns(get('/api/v1/namespaces')), ['Name', 'Status', 'Age']);
      assert.deepEqual(await columns(get(`/api/v1/namespaces/${env.namespace}/pods`)), [
        'Name',
        'Ready',
        'Status',
        'Restarts',
        'Age',
        'IP',
        'Node',
        'Nominated Node',
        'Readiness Gates',
      ]);
      assert.deepEqual(await columns(get('/api/v1/nodes')), [
        'Name',
        'Status',
        'Roles',
        'Age',
        'Version',
        'Internal-IP',
        'External-IP',
        'OS-Image',
        'Kernel-Version',
        'Container-Runtime',
      ]);
      assert.deepEqual(await columns(get('/apis/apps/v1/deployments')), [
        'Name',
        'Ready',
        'Up-to-date',
        'Available',
        'Age',
        'Containers',
        'Images',
        'Selector',
      ]);
      assert.deepEqual(await columns(get('/apis/batch/v1/jobs')), [
        'Name',
        'Status',
        'Completions',
        'Duration',
        'Age',
        'Containers',
        'Images',
        'Selector',
      ]);
      assert.deepEqual(await columns(get('/apis/policy/v1/poddisruptionbudgets')), [
        'Name',
        'Min Available',
        'Max Unavailable',
        'Allowed Disruptions',
        'Age',
      ]);
      assert.deepEqual(await columns(get('/api/v1/secrets')), ['Name', 'Type', 'Data', 'Age']);
    },
  },
  {
    name: 'a table row shows what kubectl prints',
    async run(env) {
      await created(env, configMaps(env), { metadata: { name: 'row' }, data: { a: '1', b: '2' } });
      const { body } = await env.request('GET', `${configMaps(env)}/row`, { headers: table });
      assert.deepEqual(body.rows[0].cells.slice(0, 2), ['row', 2]);
      assert.equal(body.rows[0].object.metadata.name, 'row');
    },
  },
  {
    name: 'an access review says whether one may',
    async run(env) {
      const answer = await env.request('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
        body: { spec: { resourceAttributes: { verb: 'delete', resource: 'nodes' } } },
      });
      assert.equal(answer.status, 201);
      assert.equal(answer.body.status.allowed, true);
    },
  },
  {
    name: 'a self review says who one is',
    async run(env) {
      const answer = await env.request('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
        body: {},
      });
      assert.equal(answer.status, 201);
      assert.ok(answer.body.status.userInfo.groups.includes('system:authenticated'));
    },
  },
  {
    name: 'OpenAPI v3 has the values of enumerations, and others are refused',
    async run(env) {
      const { body } = await env.request('GET', '/openapi/v3/apis/apps/v1');
      const { type } = body.components.schemas['io.k8s.api.apps.v1.DeploymentStrategy'].properties;
      assert.deepEqual(type.enum, ['Recreate', 'RollingUpdate']);
      assert.match(type.description, /Possible enum values/);
      const path = `/apis/storage.k8s.io/v1/storageclasses`;
      const answer = await env.request('POST', path, {
        query: { dryRun: 'All' },
        body: {
          metadata: { name: env.unique('odd') },
          provisioner: 'example.com/p',
          volumeBindingMode: 'Sometime',
        },
      });
      assert.equal(answer.status, 422, JSON.stringify(answer.body));
      const [cause] = answer.body.details.causes;
      assert.equal(cause.field, 'volumeBindingMode');
      assert.match(
        cause.message,
        /^Unsupported value: "Sometime": supported values: "Immediate", "WaitForFirstConsumer"/,
      );
    },
  },
];
