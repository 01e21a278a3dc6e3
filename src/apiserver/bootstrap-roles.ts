import type { KubeObject } from './object.ts';

/**
 * The roles that every cluster begins with, kept to what the embedded API serves
 * (kubernetes, plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go).
 */

const apiVersion = 'rbac.authorization.k8s.io/v1';
const bootstrapping = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };

type Rule = Record<string, readonly string[]>;

const readVerbs = ['get', 'list', 'watch'];
const writeVerbs = ['create', 'delete', 'deletecollection', 'patch', 'update'];

const viewed: readonly [group: string, resources: readonly string[]][] = [
  [
    '',
    [
      'configmaps',
      'events',
      'namespaces',
      'namespaces/status',
      'pods',
      'pods/log',
      'pods/status',
      'serviceaccounts',
      'services',
      'services/status',
    ],
  ],
  [
    'apps',
    [
      'daemonsets',
      'daemonsets/status',
      'deployments',
      'deployments/scale',
      'deployments/status',
      'statefulsets',
      'statefulsets/scale',
      'statefulsets/status',
    ],
  ],
  ['batch', ['cronjobs', 'cronjobs/status', 'jobs', 'jobs/status']],
  ['policy', ['poddisruptionbudgets', 'poddisruptionbudgets/status']],
  ['networking.k8s.io', ['networkpolicies']],
];

const edited: readonly [group: string, resources: readonly string[]][] = [
  ['', ['configmaps', 'events', 'pods', 'secrets', 'serviceaccounts', 'services']],
  ['apps', ['daemonsets', 'deployments', 'deployments/scale', 'statefulsets', 'statefulsets/scale']],
  ['batch', ['cronjobs', 'jobs']],
  ['policy', ['poddisruptionbudgets']],
  ['networking.k8s.io', ['networkpolicies']],
];

const rules = (verbs: readonly string[], from: typeof viewed): Rule[] =>
  from.map(([group, resources]) => ({ apiGroups: [group], resources, verbs }));

function role(name: string, own: readonly Rule[], labels: Record<string, string> = {}): KubeObject {
  return {
    apiVersion,
    kind: 'ClusterRole',
    metadata: { name, labels: { ...bootstrapping, ...labels } },
    rules: own,
  };
}

/** A role that is the sum of those that carry a label. */
function aggregated(
  name: string,
  selected: readonly string[],
  labels: Record<string, string> = {},
): KubeObject {
  const selectors = selected.map((one) => ({
    matchLabels: { [`rbac.authorization.k8s.io/aggregate-to-${one}`]: 'true' },
  }));
  return { ...role(name, [], labels), aggregationRule: { clusterRoleSelectors: selectors } };
}

function binding(name: string, groups: readonly string[]): KubeObject {
  return {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name, labels: bootstrapping },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: groups.map((group) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group })),
  };
}

const aggregate = (to: string) => ({ [`rbac.authorization.k8s.io/aggregate-to-${to}`]: 'true' });

export const bootstrapRoles: readonly KubeObject[] = [
  role('cluster-admin', [
    { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
    { nonResourceURLs: ['*'], verbs: ['*'] },
  ]),
  binding('cluster-admin', ['system:masters']),
  role('system:discovery', [
    {
      nonResourceURLs: [
        '/api',
        '/api/*',
        '/apis',
        '/apis/*',
        '/healthz',
        '/livez',
        '/openapi',
        '/openapi/*',
        '/readyz',
        '/version',
        '/version/',
      ],
      verbs: ['get'],
    },
  ]),
  binding('system:discovery', ['system:authenticated']),
  role('system:basic-user', [
    {
      apiGroups: ['authorization.k8s.io'],
      resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
      verbs: ['create'],
    },
    { apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'], verbs: ['create'] },
  ]),
  binding('system:basic-user', ['system:authenticated']),
  role('system:public-info-viewer', [
    { nonResourceURLs: ['/healthz', '/livez', '/readyz', '/version', '/version/'], verbs: ['get'] },
  ]),
  binding('system:public-info-viewer', ['system:authenticated', 'system:unauthenticated']),
  role('system:service-account-issuer-discovery', [
    {
      nonResourceURLs: [
        '/.well-known/openid-configuration',
        '/.well-known/openid-configuration/',
        '/openid/v1/jwks',
        '/openid/v1/jwks/',
      ],
      verbs: ['get'],
    },
  ]),
  binding('system:service-account-issuer-discovery', ['system:serviceaccounts']),
  role('system:auth-delegator', [
    { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  ]),
  aggregated('admin', ['admin', 'edit', 'view']),
  aggregated('edit', ['edit', 'view'], aggregate('admin')),
  aggregated('view', ['view'], aggregate('edit')),
  role(
    'system:aggregate-to-admin',
    [
      { apiGroups: ['authorization.k8s.io'], resources: ['localsubjectaccessreviews'], verbs: ['create'] },
      {
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['rolebindings', 'roles'],
        verbs: [...readVerbs, ...writeVerbs],
      },
    ],
    aggregate('admin'),
  ),
  role(
    'system:aggregate-to-edit',
    [
      ...rules(writeVerbs, edited),
      { apiGroups: [''], resources: ['secrets'], verbs: readVerbs },
      { apiGroups: [''], resources: ['pods/eviction', 'serviceaccounts/token'], verbs: ['create'] },
      { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['impersonate'] },
    ],
    aggregate('edit'),
  ),
  role('system:aggregate-to-view', rules(readVerbs, viewed), aggregate('view')),
];
