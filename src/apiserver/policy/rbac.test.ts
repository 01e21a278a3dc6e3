import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../schema/json.ts';
import { type Attributes, createAuthorizer, type UserInfo } from './rbac.ts';

const rule = (
  verbs: string[],
  apiGroups: string[],
  resources: string[],
  resourceNames: string[] = [],
): JsonObject => ({
  verbs,
  apiGroups,
  resources,
  resourceNames,
});

const named = (name: string, more: JsonObject, namespace?: string, labels: JsonObject = {}): JsonObject => ({
  metadata: { name, labels, ...(namespace === undefined ? {} : { namespace }) },
  ...more,
});

const bind = (kind: string, name: string, subjects: JsonObject[]): JsonObject => ({
  roleRef: { kind, name },
  subjects,
});
const user = (name: string): JsonObject => ({ kind: 'User', name });
const group = (name: string): JsonObject => ({ kind: 'Group', name });
const account = (name: string, namespace?: string): JsonObject => ({
  kind: 'ServiceAccount',
  name,
  ...(namespace === undefined ? {} : { namespace }),
});

const source = {
  clusterRoles: [
    named('reader', { rules: [rule(['get', 'list'], [''], ['pods', 'pods/log'])] }),
    named('one', { rules: [rule(['update'], [''], ['configmaps'], ['sluice-in-use'])] }),
    named('status', { rules: [rule(['patch'], ['*'], ['*/status'])] }),
    named('everything', { rules: [rule(['*'], ['*'], ['*']), { verbs: ['*'], nonResourceURLs: ['*'] }] }),
    named('paths', { rules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/api/*'] }] }),
    named('collected', {
      rules: [],
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'to-collected': 'yes' } }] },
    }),
    named(
      'wider',
      { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'to-wider': 'yes' } }] } },
      undefined,
      { 'to-wider': 'yes' },
    ),
    named('part', { rules: [rule(['get'], ['apps'], ['deployments'])] }, undefined, {
      'to-collected': 'yes',
    }),
  ],
  roles: [named('local', { rules: [rule(['delete'], ['batch'], ['jobs'])] }, 'team')],
  clusterRoleBindings: [
    named('a', bind('ClusterRole', 'reader', [user('reader')])),
    named('b', bind('ClusterRole', 'one', [user('one')])),
    named('c', bind('ClusterRole', 'status', [group('operators')])),
    named('d', bind('ClusterRole', 'everything', [account('admin', 'kube-system')])),
    named('e', bind('ClusterRole', 'paths', [group('system:authenticated')])),
    named('f', bind('ClusterRole', 'collected', [user('collector')])),
    named('circle', bind('ClusterRole', 'wider', [user('circle')])),
    named('g', bind('ClusterRole', 'gone', [user('reader')])),
  ],
  roleBindings: [
    named('h', bind('Role', 'local', [account('worker')]), 'team'),
    named('i', bind('ClusterRole', 'reader', [user('guest')]), 'team'),
  ],
};

function authorizer() {
  return createAuthorizer({
    roles: () => source.roles,
    clusterRoles: () => source.clusterRoles,
    roleBindings: () => source.roleBindings,
    clusterRoleBindings: () => source.clusterRoleBindings,
  });
}

const as = (username: string, ...groups: string[]): UserInfo => ({ username, groups });
const ask = (
  verb: string,
  apiGroup: string,
  resource: string,
  more: Partial<Record<'subresource' | 'namespace' | 'name', string>> = {},
): Attributes => ({
  verb,
  group: apiGroup,
  resource,
  ...more,
});
const path = (verb: string, where: string): Attributes => ({ verb, path: where });
const worker = as('system:serviceaccount:team:worker');

test('who may do what', async (t) => {
  const cases: [string, UserInfo, Attributes, boolean][] = [
    ['cluster role in any namespace', as('reader'), ask('get', '', 'pods', { namespace: 'x' }), true],
    ['other verb', as('reader'), ask('delete', '', 'pods', { namespace: 'x' }), false],
    ['other group', as('reader'), ask('get', 'apps', 'pods'), false],
    ['named subresource', as('reader'), ask('get', '', 'pods', { subresource: 'log' }), true],
    ['subresource is not its resource', as('reader'), ask('get', '', 'pods', { subresource: 'exec' }), false],
    ['named object', as('one'), ask('update', '', 'configmaps', { name: 'sluice-in-use' }), true],
    ['other object', as('one'), ask('update', '', 'configmaps', { name: 'other' }), false],
    ['no object (list, create)', as('one'), ask('update', '', 'configmaps'), false],
    ['any status', as('x', 'operators'), ask('patch', 'a.b', 'things', { subresource: 'status' }), true],
    ['status rule, no subresource', as('x', 'operators'), ask('patch', 'a.b', 'things'), false],
    [
      'service account',
      as('system:serviceaccount:kube-system:admin'),
      ask('delete', 'x', 'y', { subresource: 'z' }),
      true,
    ],
    [
      'service account of another namespace',
      as('system:serviceaccount:x:admin'),
      ask('delete', 'x', 'y'),
      false,
    ],
    ['role in its namespace', worker, ask('delete', 'batch', 'jobs', { namespace: 'team' }), true],
    ['role in another namespace', worker, ask('delete', 'batch', 'jobs', { namespace: 'x' }), false],
    ['role at the cluster scope', worker, ask('delete', 'batch', 'jobs'), false],
    ['cluster role bound in a namespace', as('guest'), ask('list', '', 'pods', { namespace: 'team' }), true],
    ['and nowhere else', as('guest'), ask('list', '', 'pods'), false],
    ['path', as('x', 'system:authenticated'), path('get', '/healthz'), true],
    ['path below', as('x', 'system:authenticated'), path('get', '/api/v1'), true],
    ['path beside', as('x', 'system:authenticated'), path('get', '/metrics'), false],
    ['path, other verb', as('x', 'system:authenticated'), path('post', '/healthz'), false],
    ['aggregated role', as('collector'), ask('get', 'apps', 'deployments'), true],
    ['role that aggregates itself', as('circle'), ask('get', 'apps', 'deployments'), false],
    ['system:masters', as('root', 'system:masters'), ask('delete', 'any', 'thing'), true],
    ['nobody', as('nobody'), ask('get', '', 'pods'), false],
  ];
  for (const [name, who, what, expected] of cases) {
    await t.test(name, () => assert.equal(authorizer().authorize(who, what).allowed, expected));
  }
});

test('the words of a refusal are those of kube-apiserver', () => {
  const reason = (what: Attributes) => authorizer().authorize(as('jane'), what).reason;
  assert.equal(
    reason(ask('get', '', 'pods', { namespace: 'x' })),
    'User "jane" cannot get resource "pods" in API group "" in the namespace "x"',
  );
  assert.equal(
    reason(ask('patch', 'apps', 'deployments', { subresource: 'scale' })),
    'User "jane" cannot patch resource "deployments/scale" in API group "apps" at the cluster scope',
  );
  assert.equal(reason(path('get', '/metrics')), 'User "jane" cannot get path "/metrics"');
});

test('the index is made again after a change', () => {
  const bindings: JsonObject[] = [];
  const authority = createAuthorizer({
    roles: () => [],
    clusterRoles: () => source.clusterRoles,
    roleBindings: () => [],
    clusterRoleBindings: () => bindings,
  });
  const may = () => authority.authorize(as('new'), ask('get', '', 'pods')).allowed;
  assert.equal(may(), false);
  bindings.push(named('n', bind('ClusterRole', 'reader', [user('new')])));
  assert.equal(may(), false);
  authority.changed();
  assert.equal(may(), true);
});

test('all rules of a user in a namespace', () => {
  const rules = authorizer().rulesFor(worker, 'team');
  assert.deepEqual(
    rules.map((each) => each.resources),
    [['jobs']],
  );
  assert.deepEqual(authorizer().rulesFor(worker, 'x'), []);
  assert.equal(authorizer().rulesFor(as('root', 'system:masters'), 'x').length, 2);
});
