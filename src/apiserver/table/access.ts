import { type KubeObject, list, record } from '../object.ts';
import { age, type Column, column, name } from './column.ts';

const created: Column = column(
  'Created At',
  ({ object }) => object.metadata.creationTimestamp ?? '<unknown>',
  {
    type: 'date',
  },
);

const binding: readonly Column[] = [
  name,
  column('Role', ({ object }) => {
    const { kind, name: role } = record(object.roleRef);
    return `${kind}/${role}`;
  }),
  age,
  column('Users', ({ object }) => subjects(object, 'User'), { priority: 1 }),
  column('Groups', ({ object }) => subjects(object, 'Group'), { priority: 1 }),
  column('ServiceAccounts', ({ object }) => subjects(object, 'ServiceAccount'), { priority: 1 }),
];

const webhooks: readonly Column[] = [
  name,
  column('Webhooks', ({ object }) => list(object.webhooks).length, { type: 'integer' }),
  age,
];

/** Tables of who may do what, and of what extends the API. */
export const accessLayouts: Readonly<Record<string, readonly Column[]>> = {
  serviceaccounts: [
    name,
    column('Secrets', ({ object }) => list(object.secrets).length, { type: 'integer' }),
    age,
  ],
  'roles.rbac.authorization.k8s.io': [name, created],
  'clusterroles.rbac.authorization.k8s.io': [name, created],
  'rolebindings.rbac.authorization.k8s.io': binding,
  'clusterrolebindings.rbac.authorization.k8s.io': binding,
  'customresourcedefinitions.apiextensions.k8s.io': [name, created],
  'validatingwebhookconfigurations.admissionregistration.k8s.io': webhooks,
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': webhooks,
  'validatingadmissionpolicies.admissionregistration.k8s.io': [
    name,
    column('Validations', ({ object }) => list(record(object.spec).validations).length, { type: 'integer' }),
    column('ParamKind', ({ object }) => {
      const { apiVersion, kind } = record(record(object.spec).paramKind);
      return kind === undefined ? '<unset>' : `${apiVersion}/${kind}`;
    }),
    age,
  ],
  'validatingadmissionpolicybindings.admissionregistration.k8s.io': [
    name,
    column('PolicyName', ({ object }) => record(object.spec).policyName ?? ''),
    column('ParamRef', ({ object }) => {
      const ref = record(record(object.spec).paramRef);
      if (ref.name === undefined) return '<unset>';
      return ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`;
    }),
    age,
  ],
};

function subjects(object: KubeObject, kind: string): string {
  return list(object.subjects)
    .map(record)
    .filter((subject) => subject.kind === kind)
    .map((subject) => (kind === 'ServiceAccount' ? `${subject.namespace}/${subject.name}` : subject.name))
    .join(', ');
}
