import assert from 'node:assert/strict';
import {
  assertFailure,
  type ContractCase,
  configMap,
  configMaps,
  created,
  type Environment,
} from './environment.ts';

const pods = (env: Environment) => `/api/v1/namespaces/${env.namespace}/pods`;

const pod = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: { containers: [{ name: 'main', image: 'example.com/none@sha256:00' }], ...spec },
});

/** Finalizers, deletion, namespaces, Pods' grace, generation. */
export const lifecycleCases: readonly ContractCase[] = [
  {
    name: 'a finalizer holds a deleted object until it is removed',
    async run(env) {
      const body = configMap(env, 'held');
      body.metadata.finalizers = ['example.com/hold'];
      await created(env, configMaps(env), body);
      const deleted = await env.request('DELETE', `${configMaps(env)}/held`);
      assert.equal(deleted.status, 200);
      assert.equal(deleted.body.kind, 'ConfigMap');
      const standing = await env.request('GET', `${configMaps(env)}/held`);
      assert.ok(standing.body.metadata.deletionTimestamp);
      assert.equal(standing.body.metadata.deletionGracePeriodSeconds, 0);
      const freed = await env.request('PATCH', `${configMaps(env)}/held`, {
        body: { metadata: { finalizers: null } },
        headers: { 'content-type': 'application/merge-patch+json' },
      });
      assert.equal(freed.status, 200);
      assertFailure(await env.request('GET', `${configMaps(env)}/held`), 404, 'NotFound');
    },
  },
  {
    name: 'no finalizer can be added to what is being deleted',
    async run(env) {
      const body = configMap(env, 'dying');
      body.metadata.finalizers = ['example.com/hold'];
      await created(env, configMaps(env), body);
      await env.request('DELETE', `${configMaps(env)}/dying`);
      const answer = await env.request('PATCH', `${configMaps(env)}/dying`, {
        body: { metadata: { finalizers: ['example.com/hold', 'example.com/more'] } },
        headers: { 'content-type': 'application/merge-patch+json' },
      });
      assertFailure(answer, 422, 'Invalid', /no new finalizers can be added/);
    },
  },
  {
    name: 'deleting twice keeps the first deletionTimestamp',
    async run(env) {
      const body = configMap(env, 'again');
      body.metadata.finalizers = ['example.com/hold'];
      await created(env, configMaps(env), body);
      const first = await env.request('DELETE', `${configMaps(env)}/again`);
      const second = await env.request('DELETE', `${configMaps(env)}/again`);
      assert.equal(second.body.metadata.deletionTimestamp, first.body.metadata.deletionTimestamp);
    },
  },
  {
    name: 'deleting in the foreground waits for the finalizer of that name',
    async run(env) {
      await created(env, configMaps(env), configMap(env, 'owner'));
      const answer = await env.request('DELETE', `${configMaps(env)}/owner`, {
        body: { propagationPolicy: 'Foreground' },
      });
      assert.deepEqual(answer.body.metadata.finalizers, ['foregroundDeletion']);
    },
  },
  {
    name: 'an unknown propagation policy is refused',
    async run(env) {
      await created(env, configMaps(env), configMap(env, 'p'));
      const answer = await env.request('DELETE', `${configMaps(env)}/p`, {
        body: { propagationPolicy: 'Sideways' },
      });
      assert.ok([400, 422].includes(answer.status), String(answer.status));
    },
  },
  {
    name: 'a Pod that runs nowhere is deleted at once',
    async run(env) {
      await created(env, pods(env), pod('waiting', { nodeSelector: { 'no-such-node': 'true' } }));
      const answer = await env.request('DELETE', `${pods(env)}/waiting`);
      assert.equal(answer.status, 200);
      assert.equal((await env.request('GET', `${pods(env)}/waiting`)).status, 404);
    },
  },
  {
    name: 'a Pod on a node keeps its grace period until it is deleted with none',
    async run(env) {
      await created(
        env,
        pods(env),
        pod('placed', { nodeName: env.unique('no-node'), terminationGracePeriodSeconds: 7 }),
      );
      const first = await env.request('DELETE', `${pods(env)}/placed`);
      assert.equal(first.body.kind, 'Pod');
      assert.equal(first.body.metadata.deletionGracePeriodSeconds, 7);
      assert.ok(first.body.metadata.deletionTimestamp);
      assert.equal((await env.request('GET', `${pods(env)}/placed`)).status, 200);
      await env.request('DELETE', `${pods(env)}/placed`, { body: { gracePeriodSeconds: 0 } });
      assert.equal((await env.request('GET', `${pods(env)}/placed`)).status, 404);
    },
  },
  {
    name: 'a Pod begins as Pending',
    async run(env) {
      const object = await created(env, pods(env), { ...pod('fresh'), status: { phase: 'Running' } });
      assert.equal(object.status.phase, 'Pending');
      assert.equal(object.status.qosClass, 'BestEffort');
      await env.request('DELETE', `${pods(env)}/fresh`, { body: { gracePeriodSeconds: 0 } });
    },
  },
  {
    name: 'a Pod gets the token of its ServiceAccount and the CA of the cluster',
    async run(env) {
      await created(env, `/api/v1/namespaces/${env.namespace}/serviceaccounts`, {
        metadata: { name: 'robot' },
      });
      const spec = { serviceAccountName: 'robot', nodeSelector: { none: 'x' } };
      const object = await created(env, pods(env), pod('mounted', spec));
      const [volume] = object.spec.volumes;
      assert.match(volume.name, /^kube-api-access-[a-z0-9]{5}$/);
      assert.deepEqual(object.spec.containers[0].volumeMounts, [
        { name: volume.name, readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
      ]);
      assert.deepEqual(volume.projected, {
        defaultMode: 420,
        sources: [
          { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
          { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
          {
            downwardAPI: {
              items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
            },
          },
        ],
      });
      const without = { ...spec, automountServiceAccountToken: false };
      const bare = await created(env, pods(env), pod('bare', without));
      assert.equal(bare.spec.volumes, undefined);
    },
  },
  {
    name: 'a Pod of a ServiceAccount that does not exist is refused',
    async run(env) {
      const answer = await env.request('POST', pods(env), {
        body: pod('lost', { serviceAccountName: 'nobody' }),
      });
      assertFailure(
        answer,
        403,
        'Forbidden',
        /error looking up service account .*\/nobody: serviceaccount "nobody" not found/,
      );
    },
  },
  {
    name: 'the class of a Pod decides its priority',
    async run(env) {
      const spec = { priorityClassName: 'system-cluster-critical', nodeSelector: { none: 'x' } };
      const object = await created(env, pods(env), pod('important', spec));
      assert.equal(object.spec.priority, 2_000_000_000);
      const answer = await env.request('POST', pods(env), {
        body: pod('odd', { priorityClassName: 'no-such' }),
      });
      assertFailure(answer, 403, 'Forbidden', /no PriorityClass with name no-such was found/);
    },
  },
  {
    name: 'a namespace is labelled with its name and is Active',
    async run(env) {
      const { body } = await env.request('GET', `/api/v1/namespaces/${env.namespace}`);
      assert.equal(body.metadata.labels['kubernetes.io/metadata.name'], env.namespace);
      assert.equal(body.status.phase, 'Active');
      assert.deepEqual(body.spec.finalizers, ['kubernetes']);
    },
  },
  {
    name: 'nothing is created in a namespace that is being deleted',
    async run(env) {
      const name = env.unique('ending');
      await created(env, '/api/v1/namespaces', { metadata: { name, finalizers: ['example.com/hold'] } });
      const deleted = await env.request('DELETE', `/api/v1/namespaces/${name}`);
      assert.equal(deleted.status, 200);
      const { body } = await env.request('GET', `/api/v1/namespaces/${name}`);
      assert.equal(body.status.phase, 'Terminating');
      const answer = await env.request('POST', `/api/v1/namespaces/${name}/configmaps`, {
        body: { metadata: { name: 'late' } },
      });
      assertFailure(answer, 403, 'Forbidden', /because it is being terminated/);
      assert.equal(answer.body.details.causes[0].reason, 'NamespaceTerminating');
      await env.request('PATCH', `/api/v1/namespaces/${name}`, {
        body: { metadata: { finalizers: null } },
        headers: { 'content-type': 'application/merge-patch+json' },
      });
    },
  },
  {
    name: 'the default namespace may not be deleted',
    async run(env) {
      assertFailure(await env.request('DELETE', '/api/v1/namespaces/default'), 403, 'Forbidden');
    },
  },
  {
    name: 'generation counts changes of spec alone',
    async run(env) {
      const path = `/apis/apps/v1/namespaces/${env.namespace}/deployments`;
      const merge = { 'content-type': 'application/merge-patch+json' };
      const template = {
        metadata: { labels: { app: 'x' } },
        spec: { containers: [{ name: 'c', image: 'example.com/x@sha256:00' }] },
      };
      const spec = { replicas: 0, selector: { matchLabels: { app: 'x' } }, template };
      const object = await created(env, path, { metadata: { name: 'counted' }, spec });
      assert.equal(object.metadata.generation, 1);
      const labelled = await env.request('PATCH', `${path}/counted`, {
        body: { metadata: { labels: { a: 'b' } } },
        headers: merge,
      });
      assert.equal(labelled.body.metadata.generation, 1);
      const changed = await env.request('PATCH', `${path}/counted`, {
        body: { spec: { paused: true } },
        headers: merge,
      });
      assert.equal(changed.body.metadata.generation, 2);
    },
  },
  {
    name: 'a Job gets its selector and labels from its uid',
    async run(env) {
      const object = await created(env, `/apis/batch/v1/namespaces/${env.namespace}/jobs`, {
        metadata: { name: 'once' },
        spec: {
          suspend: true,
          template: {
            spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'example.com/x@sha256:00' }] },
          },
        },
      });
      const { uid } = object.metadata;
      assert.deepEqual(object.spec.selector.matchLabels, { 'batch.kubernetes.io/controller-uid': uid });
      assert.equal(object.spec.template.metadata.labels['job-name'], 'once');
      assert.equal(object.spec.template.metadata.labels['controller-uid'], uid);
    },
  },
  {
    name: 'a binding assigns a Pod once',
    async run(env) {
      await created(env, pods(env), pod('bound', { nodeSelector: { 'no-such-node': 'true' } }));
      const body = { metadata: { name: 'bound' }, target: { kind: 'Node', name: 'some-node' } };
      const first = await env.request('POST', `${pods(env)}/bound/binding`, { body });
      assert.equal(first.status, 201, JSON.stringify(first.body));
      const { spec } = (await env.request('GET', `${pods(env)}/bound`)).body;
      assert.equal(spec.nodeName, 'some-node');
      assertFailure(
        await env.request('POST', `${pods(env)}/bound/binding`, { body }),
        409,
        'Conflict',
        /already assigned/,
      );
      await env.request('DELETE', `${pods(env)}/bound`, { body: { gracePeriodSeconds: 0 } });
    },
  },
  {
    name: 'an eviction that a budget forbids is TooManyRequests',
    async run(env) {
      const budgets = `/apis/policy/v1/namespaces/${env.namespace}/poddisruptionbudgets`;
      const body = {
        ...pod('guarded', { nodeName: env.unique('no-node') }),
        metadata: { name: 'guarded', labels: { g: '1' } },
      };
      await created(env, pods(env), body);
      await env.request('PATCH', `${pods(env)}/guarded/status`, {
        body: { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
        headers: { 'content-type': 'application/merge-patch+json' },
      });
      await created(env, budgets, {
        metadata: { name: 'all' },
        spec: { minAvailable: 1, selector: { matchLabels: { g: '1' } } },
      });
      const evict = () =>
        env.request('POST', `${pods(env)}/guarded/eviction`, {
          body: {
            apiVersion: 'policy/v1',
            kind: 'Eviction',
            metadata: { name: 'guarded', namespace: env.namespace },
          },
        });
      const refused = await evict();
      assertFailure(refused, 429, 'TooManyRequests', /violate the pod's disruption budget/);
      assert.equal(refused.body.details.causes[0].reason, 'DisruptionBudget');
      await env.request('DELETE', `${budgets}/all`);
      const evicted = await evict();
      assert.equal(evicted.status, 201, JSON.stringify(evicted.body));
      const after = await env.request('GET', `${pods(env)}/guarded`);
      assert.ok(after.status === 404 || after.body.metadata.deletionTimestamp !== undefined);
      await env.request('DELETE', `${pods(env)}/guarded`, { body: { gracePeriodSeconds: 0 } });
    },
  },
];
