import assert from 'node:assert/strict';
import {
  assertFailure,
  type ContractCase,
  configMaps,
  created,
  type Environment,
  eventually,
  type Loose,
} from './environment.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const accounts = (env: Environment) => `/api/v1/namespaces/${env.namespace}/serviceaccounts`;

async function account(
  env: Environment,
  name: string,
  spec: object = {},
): Promise<{ user: string; token: string }> {
  await created(env, accounts(env), { metadata: { name } });
  const request = await created(env, `${accounts(env)}/${name}/token`, { spec });
  return { user: `system:serviceaccount:${env.namespace}:${name}`, token: request.status.token };
}

async function allow(env: Environment, account: string, rules: object[]): Promise<void> {
  const base = `${rbac}/namespaces/${env.namespace}`;
  await created(env, `${base}/roles`, { metadata: { name: account }, rules });
  await created(env, `${base}/rolebindings`, {
    metadata: { name: account },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: account },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace: env.namespace }],
  });
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** Tokens, rights, impersonation, reviews. */
export const accessCases: readonly ContractCase[] = [
  {
    name: 'a ServiceAccount may do what its role says, and nothing else',
    async run(env) {
      const { user, token } = await account(env, 'reader');
      const denied = await env.anonymous('GET', configMaps(env), bearer(token));
      const what = 'resource "configmaps" in API group "" in the namespace';
      assertFailure(denied, 403, 'Forbidden');
      assert.equal(
        denied.body.message,
        `configmaps is forbidden: User "${user}" cannot list ${what} "${env.namespace}"`,
      );
      await allow(env, 'reader', [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }]);
      await eventually(
        async () => (await env.anonymous('GET', configMaps(env), bearer(token))).status === 200,
      );
      assert.equal((await env.anonymous('DELETE', `${configMaps(env)}/x`, bearer(token))).status, 403);
      assert.equal((await env.anonymous('GET', '/api/v1/configmaps', bearer(token))).status, 403);
      assert.equal(
        (await env.anonymous('GET', `/api/v1/namespaces/${env.namespace}/secrets`, bearer(token))).status,
        403,
      );
    },
  },
  {
    name: 'a role can be kept to names',
    async run(env) {
      const { token } = await account(env, 'picky');
      await allow(env, 'picky', [
        { apiGroups: [''], resources: ['configmaps'], resourceNames: ['mine'], verbs: ['get'] },
      ]);
      await created(env, configMaps(env), { metadata: { name: 'mine' } });
      await created(env, configMaps(env), { metadata: { name: 'yours' } });
      await eventually(
        async () => (await env.anonymous('GET', `${configMaps(env)}/mine`, bearer(token))).status === 200,
      );
      assert.equal((await env.anonymous('GET', `${configMaps(env)}/yours`, bearer(token))).status, 403);
    },
  },
  {
    name: 'a token says who it is of, for how long and for whom',
    async run(env) {
      const { user, token } = await account(env, 'who', { expirationSeconds: 1200 });
      const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
      assert.equal(claims.sub, user);
      assert.equal(claims.exp - claims.iat, 1200);
      assert.equal(claims['kubernetes.io'].namespace, env.namespace);
      assert.equal(claims['kubernetes.io'].serviceaccount.name, 'who');
      const review = await env.request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
        body: { spec: { token } },
      });
      assert.equal(review.body.status.authenticated, true);
      assert.equal(review.body.status.user.username, user);
      assert.ok(review.body.status.user.groups.includes(`system:serviceaccounts:${env.namespace}`));
    },
  },
  {
    name: 'a token for another audience does not open the API',
    async run(env) {
      const { token } = await account(env, 'elsewhere', { audiences: ['https://elsewhere.example.com'] });
      assertFailure(await env.anonymous('GET', '/api', bearer(token)), 401, 'Unauthorized');
      const review = await env.request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
        body: { spec: { token, audiences: ['https://elsewhere.example.com'] } },
      });
      assert.deepEqual(review.body.status.audiences, ['https://elsewhere.example.com']);
    },
  },
  {
    name: 'a token that is asked for too short a time is invalid',
    async run(env) {
      await created(env, accounts(env), { metadata: { name: 'hasty' } });
      const answer = await env.request('POST', `${accounts(env)}/hasty/token`, {
        body: { spec: { expirationSeconds: 5 } },
      });
      assertFailure(answer, 422, 'Invalid', /may not specify a duration less than 10 minutes/);
    },
  },
  {
    name: 'a token dies with its ServiceAccount',
    async run(env) {
      const { token } = await account(env, 'mortal');
      assert.equal((await env.anonymous('GET', '/api', bearer(token))).status, 200);
      await env.request('DELETE', `${accounts(env)}/mortal`);
      await eventually(async () => (await env.anonymous('GET', '/api', bearer(token))).status === 401);
    },
  },
  {
    name: 'a token bound to a Pod dies with it',
    async run(env) {
      const pods = `/api/v1/namespaces/${env.namespace}/pods`;
      await created(env, accounts(env), { metadata: { name: 'bound' } });
      const pod = await created(env, pods, {
        metadata: { name: 'carrier' },
        spec: {
          serviceAccountName: 'bound',
          nodeSelector: { none: 'x' },
          containers: [{ name: 'c', image: 'example.com/x@sha256:00' }],
        },
      });
      const { status } = await created(env, `${accounts(env)}/bound/token`, {
        spec: { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'carrier', uid: pod.metadata.uid } },
      });
      assert.equal((await env.anonymous('GET', '/api', bearer(status.token))).status, 200);
      await env.request('DELETE', `${pods}/carrier`, { body: { gracePeriodSeconds: 0 } });
      await eventually(async () => (await env.anonymous('GET', '/api', bearer(status.token))).status === 401);
    },
  },
  {
    name: 'an administrator can ask as another user',
    async run(env) {
      const headers = { 'impersonate-user': 'jane', 'impersonate-group': 'readers' };
      const { body } = await env.request('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
        body: {},
        headers,
      });
      assert.equal(body.status.userInfo.username, 'jane');
      assert.ok(body.status.userInfo.groups.includes('readers'));
      const denied = await env.request('GET', '/api/v1/nodes', { headers });
      assertFailure(
        denied,
        403,
        'Forbidden',
        /User "jane" cannot list resource "nodes" in API group "" at the cluster scope/,
      );
    },
  },
  {
    name: 'who has no right to it cannot ask as another user',
    async run(env) {
      const { token } = await account(env, 'climber');
      const answer = await env.anonymous('GET', '/api', {
        headers: {
          authorization: `Bearer ${token}`,
          'impersonate-user': 'admin',
          'impersonate-group': 'system:masters',
        },
      });
      assertFailure(answer, 403, 'Forbidden', /cannot impersonate/);
    },
  },
  {
    name: 'an access review answers for another user',
    async run(env) {
      await account(env, 'subject');
      await allow(env, 'subject', [{ apiGroups: ['batch'], resources: ['jobs'], verbs: ['list'] }]);
      const ask = async (verb: string): Promise<boolean> => {
        const answer = await env.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
          body: {
            spec: {
              user: `system:serviceaccount:${env.namespace}:subject`,
              resourceAttributes: { verb, group: 'batch', resource: 'jobs', namespace: env.namespace },
            },
          },
        });
        return answer.body.status.allowed;
      };
      await eventually(() => ask('list'));
      assert.equal(await ask('delete'), false);
    },
  },
  {
    name: 'a rules review lists what one may do',
    async run(env) {
      const { token } = await account(env, 'lister');
      await allow(env, 'lister', [{ apiGroups: ['batch'], resources: ['jobs'], verbs: ['list'] }]);
      const ask = () =>
        env.anonymous('POST', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', {
          ...bearer(token),
          body: { spec: { namespace: env.namespace } },
        });
      await eventually(async () =>
        (await ask()).body.status.resourceRules.some((rule: Loose) => rule.resources.includes('jobs')),
      );
      const { body } = await ask();
      assert.ok(body.status.nonResourceRules.some((rule: Loose) => rule.nonResourceURLs.includes('/api')));
    },
  },
  {
    name: 'an aggregated role has the rules of those that it selects',
    async run(env) {
      const label = { [`${env.unique('agg')}.example.com/x`]: 'true' };
      const [parent, part] = [env.unique('parent'), env.unique('part')];
      await created(env, `${rbac}/clusterroles`, {
        metadata: { name: parent },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: label }] },
        rules: [],
      });
      await created(env, `${rbac}/clusterroles`, {
        metadata: { name: part, labels: label },
        rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }],
      });
      const { token } = await account(env, 'aggregate');
      await created(env, `${rbac}/namespaces/${env.namespace}/rolebindings`, {
        metadata: { name: 'aggregate' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: parent },
        subjects: [{ kind: 'ServiceAccount', name: 'aggregate', namespace: env.namespace }],
      });
      await eventually(
        async () => (await env.anonymous('GET', configMaps(env), bearer(token))).status === 200,
      );
      for (const name of [parent, part]) await env.request('DELETE', `${rbac}/clusterroles/${name}`);
    },
  },
  {
    name: 'nobody grants rights that they do not have',
    async run(env) {
      const { token } = await account(env, 'granter');
      const write = ['create', 'update'];
      await allow(env, 'granter', [
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles', 'rolebindings'], verbs: write },
        { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
      ]);
      const base = `${rbac}/namespaces/${env.namespace}`;
      const role = (name: string, resource: string) =>
        env.anonymous('POST', `${base}/roles`, {
          ...bearer(token),
          body: { metadata: { name }, rules: [{ apiGroups: [''], resources: [resource], verbs: ['get'] }] },
        });
      await eventually(async () => (await role('fine', 'pods')).status !== 403);
      const refused = await role('greedy', 'secrets');
      assertFailure(
        refused,
        403,
        'Forbidden',
        /is attempting to grant RBAC permissions not currently held:\n/,
      );
      assert.match(refused.body.message, /\{APIGroups:\[""\], Resources:\["secrets"\], Verbs:\["get"\]\}/);
      const bound = await env.anonymous('POST', `${base}/rolebindings`, {
        ...bearer(token),
        body: {
          metadata: { name: 'greedy' },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
          subjects: [{ kind: 'ServiceAccount', name: 'granter', namespace: env.namespace }],
        },
      });
      assertFailure(bound, 403, 'Forbidden', /not currently held/);
    },
  },
  {
    name: 'who may escalate and bind grants what they like',
    async run(env) {
      const { token } = await account(env, 'trusted');
      await allow(env, 'trusted', [
        {
          apiGroups: ['rbac.authorization.k8s.io'],
          resources: ['roles', 'rolebindings', 'clusterroles'],
          verbs: ['create', 'escalate', 'bind'],
        },
      ]);
      const base = `${rbac}/namespaces/${env.namespace}`;
      const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
      await eventually(async () => {
        const answer = await env.anonymous('POST', `${base}/roles`, {
          ...bearer(token),
          body: { metadata: { name: env.unique('wide') }, rules },
        });
        return answer.status === 201;
      });
    },
  },
];
