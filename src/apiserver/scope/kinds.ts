/**
 * The closed scope of the embedded API as data: which kinds there are, what can be done with them and how they
 * are shown. Router, discovery, OpenAPI and documentation come from this table.
 */

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

export const allVerbs: readonly Verb[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
];

/** What is below `/{resource}/{name}/`. */
export interface SubresourceScope {
  readonly name: string;
  readonly verbs: readonly ('create' | 'get' | 'patch' | 'update')[];
  /** The kind of its bodies, where it is another one than the resource's. */
  readonly kind?: { readonly group: string; readonly version: string; readonly kind: string };
}

export interface ResourceScope {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly verbs: readonly Verb[];
  readonly subresources: readonly SubresourceScope[];
  /** acts: something in Sluice works by it; stored: validated and listed, nothing acts; review: asked, never stored. */
  readonly role: 'acts' | 'stored' | 'review';
  /** Field selectors beside metadata.name and metadata.namespace, as paths into the object. */
  readonly selectableFields: readonly string[];
  /** Whether changes of spec count in metadata.generation. */
  readonly generation: boolean;
}

const status: SubresourceScope = { name: 'status', verbs: ['get', 'patch', 'update'] };
const scale: SubresourceScope = {
  name: 'scale',
  verbs: ['get', 'patch', 'update'],
  kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
};

type Options = Partial<
  Pick<
    ResourceScope,
    'categories' | 'generation' | 'role' | 'selectableFields' | 'shortNames' | 'subresources'
  >
>;

function resource(
  apiVersion: string,
  kind: string,
  plural: string,
  where: 'namespaced' | 'cluster',
  options: Options = {},
): ResourceScope {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const role = options.role ?? 'acts';
  return {
    group,
    version,
    kind,
    plural,
    singular: kind.toLowerCase(),
    shortNames: options.shortNames ?? [],
    categories: options.categories ?? [],
    namespaced: where === 'namespaced',
    verbs: role === 'review' ? ['create'] : allVerbs,
    subresources: options.subresources ?? [],
    role,
    selectableFields: options.selectableFields ?? [],
    generation: options.generation ?? false,
  };
}

const eventFields = [
  'involvedObject.kind',
  'involvedObject.namespace',
  'involvedObject.name',
  'involvedObject.uid',
  'involvedObject.apiVersion',
  'involvedObject.resourceVersion',
  'involvedObject.fieldPath',
  'reason',
  'reportingComponent',
  'source',
  'type',
];

const podFields = [
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.schedulerName',
  'spec.serviceAccountName',
  'spec.hostNetwork',
  'status.phase',
  'status.podIP',
  'status.nominatedNodeName',
];

export const builtInKinds: readonly ResourceScope[] = [
  resource('v1', 'Namespace', 'namespaces', 'cluster', {
    shortNames: ['ns'],
    subresources: [status, { name: 'finalize', verbs: ['update'] }],
    selectableFields: ['status.phase'],
  }),
  resource('v1', 'Node', 'nodes', 'cluster', {
    shortNames: ['no'],
    subresources: [status],
    selectableFields: ['spec.unschedulable'],
  }),
  resource('v1', 'Pod', 'pods', 'namespaced', {
    shortNames: ['po'],
    categories: ['all'],
    subresources: [
      status,
      { name: 'binding', verbs: ['create'], kind: { group: '', version: 'v1', kind: 'Binding' } },
      { name: 'eviction', verbs: ['create'], kind: { group: 'policy', version: 'v1', kind: 'Eviction' } },
      { name: 'log', verbs: ['get'] },
    ],
    selectableFields: podFields,
    generation: true,
  }),
  resource('v1', 'ConfigMap', 'configmaps', 'namespaced', { shortNames: ['cm'] }),
  resource('v1', 'Secret', 'secrets', 'namespaced', { selectableFields: ['type'] }),
  resource('v1', 'ServiceAccount', 'serviceaccounts', 'namespaced', {
    shortNames: ['sa'],
    subresources: [
      {
        name: 'token',
        verbs: ['create'],
        kind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
      },
    ],
  }),
  resource('v1', 'Event', 'events', 'namespaced', { shortNames: ['ev'], selectableFields: eventFields }),
  resource('v1', 'Service', 'services', 'namespaced', {
    shortNames: ['svc'],
    categories: ['all'],
    subresources: [status],
    role: 'stored',
    selectableFields: ['spec.clusterIP', 'spec.type'],
  }),
  resource('apps/v1', 'Deployment', 'deployments', 'namespaced', {
    shortNames: ['deploy'],
    categories: ['all'],
    subresources: [scale, status],
    generation: true,
  }),
  resource('apps/v1', 'StatefulSet', 'statefulsets', 'namespaced', {
    shortNames: ['sts'],
    categories: ['all'],
    subresources: [scale, status],
    role: 'stored',
    generation: true,
  }),
  resource('apps/v1', 'DaemonSet', 'daemonsets', 'namespaced', {
    shortNames: ['ds'],
    categories: ['all'],
    subresources: [status],
    role: 'stored',
    generation: true,
  }),
  resource('batch/v1', 'Job', 'jobs', 'namespaced', {
    categories: ['all'],
    subresources: [status],
    selectableFields: ['status.successful'],
    generation: true,
  }),
  resource('batch/v1', 'CronJob', 'cronjobs', 'namespaced', {
    shortNames: ['cj'],
    categories: ['all'],
    subresources: [status],
    role: 'stored',
    generation: true,
  }),
  resource('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets', 'namespaced', {
    shortNames: ['pdb'],
    subresources: [status],
    generation: true,
  }),
  resource('coordination.k8s.io/v1', 'Lease', 'leases', 'namespaced'),
  resource('rbac.authorization.k8s.io/v1', 'Role', 'roles', 'namespaced'),
  resource('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings', 'namespaced'),
  resource('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', 'cluster'),
  resource('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'clusterrolebindings', 'cluster'),
  resource('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', 'cluster', {
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    subresources: [status],
    generation: true,
  }),
  resource(
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicy',
    'validatingadmissionpolicies',
    'cluster',
    { categories: ['api-extensions'], subresources: [status], generation: true },
  ),
  resource(
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
    'cluster',
    { categories: ['api-extensions'], generation: true },
  ),
  resource(
    'admissionregistration.k8s.io/v1',
    'ValidatingWebhookConfiguration',
    'validatingwebhookconfigurations',
    'cluster',
    { categories: ['api-extensions'], role: 'stored', generation: true },
  ),
  resource(
    'admissionregistration.k8s.io/v1',
    'MutatingWebhookConfiguration',
    'mutatingwebhookconfigurations',
    'cluster',
    { categories: ['api-extensions'], role: 'stored', generation: true },
  ),
  resource('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', 'namespaced', {
    shortNames: ['netpol'],
    role: 'stored',
    generation: true,
  }),
  resource('scheduling.k8s.io/v1', 'PriorityClass', 'priorityclasses', 'cluster', {
    shortNames: ['pc'],
    role: 'stored',
    generation: true,
  }),
  resource('storage.k8s.io/v1', 'StorageClass', 'storageclasses', 'cluster', {
    shortNames: ['sc'],
    role: 'stored',
  }),
  resource('certificates.k8s.io/v1', 'CertificateSigningRequest', 'certificatesigningrequests', 'cluster', {
    shortNames: ['csr'],
    subresources: [status, { name: 'approval', verbs: ['get', 'patch', 'update'] }],
    role: 'stored',
    selectableFields: ['spec.signerName'],
  }),
  resource('flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', 'flowschemas', 'cluster', {
    subresources: [status],
    role: 'stored',
    generation: true,
  }),
  resource('authentication.k8s.io/v1', 'TokenReview', 'tokenreviews', 'cluster', { role: 'review' }),
  resource('authentication.k8s.io/v1', 'SelfSubjectReview', 'selfsubjectreviews', 'cluster', {
    role: 'review',
  }),
  resource('authorization.k8s.io/v1', 'SubjectAccessReview', 'subjectaccessreviews', 'cluster', {
    role: 'review',
  }),
  resource('authorization.k8s.io/v1', 'SelfSubjectAccessReview', 'selfsubjectaccessreviews', 'cluster', {
    role: 'review',
  }),
  resource('authorization.k8s.io/v1', 'SelfSubjectRulesReview', 'selfsubjectrulesreviews', 'cluster', {
    role: 'review',
  }),
  resource('authorization.k8s.io/v1', 'LocalSubjectAccessReview', 'localsubjectaccessreviews', 'namespaced', {
    role: 'review',
  }),
];

/** Groups in the order in which clients prefer them: the first that knows a plural wins. */
export const groupOrder: readonly string[] = [
  '',
  'apps',
  'batch',
  'policy',
  'coordination.k8s.io',
  'rbac.authorization.k8s.io',
  'apiextensions.k8s.io',
  'admissionregistration.k8s.io',
  'networking.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
  'certificates.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
];
