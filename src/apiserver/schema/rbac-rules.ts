import { equalJson } from '../object.ts';
import { type FieldError, indexPath, invalid, notSupported, required } from './field-error.ts';
import { isObject, type JsonObject, type JsonValue } from './json.ts';
import { objectsOf } from './pod-defaults.ts';

const rbacGroup = 'rbac.authorization.k8s.io';

/** Kubernetes, pkg/apis/rbac/validation. */
export function* roleRules(role: JsonObject): Generator<FieldError> {
  const isNamespaced = role.kind === 'Role';
  for (const [at, rule] of objectsOf(role.rules).entries()) {
    const path = indexPath('rules', at);
    if (isEmpty(rule.verbs)) yield required(`${path}.verbs`, 'verbs must contain at least one value');
    if (!isEmpty(rule.nonResourceURLs)) {
      if (isNamespaced) {
        yield invalid(
          `${path}.nonResourceURLs`,
          rule.nonResourceURLs,
          'namespaced rules cannot apply to non-resource URLs',
        );
      }
      if (!isEmpty(rule.apiGroups) || !isEmpty(rule.resources) || !isEmpty(rule.resourceNames)) {
        const message = 'rules cannot apply to both regular resources and non-resource URLs';
        yield invalid(`${path}.nonResourceURLs`, rule.nonResourceURLs, message);
      }
      continue;
    }
    if (isEmpty(rule.apiGroups)) {
      yield required(`${path}.apiGroups`, 'resource rules must supply at least one api group');
    }
    if (isEmpty(rule.resources)) {
      yield required(`${path}.resources`, 'resource rules must supply at least one resource');
    }
  }
}

export function* roleBindingRules(binding: JsonObject, old?: JsonObject): Generator<FieldError> {
  const isNamespaced = binding.kind === 'RoleBinding';
  const roleRef = isObject(binding.roleRef) ? binding.roleRef : {};
  const kinds = isNamespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  if (roleRef.apiGroup !== rbacGroup) {
    yield notSupported('roleRef.apiGroup', roleRef.apiGroup ?? '', [rbacGroup]);
  }
  if (!kinds.includes(String(roleRef.kind))) yield notSupported('roleRef.kind', roleRef.kind ?? '', kinds);
  if ((roleRef.name ?? '') === '') yield required('roleRef.name');
  for (const [at, subject] of objectsOf(binding.subjects).entries()) {
    yield* subjectErrors(subject, indexPath('subjects', at), isNamespaced);
  }
  if (old !== undefined && !equalJson(binding.roleRef, old.roleRef)) {
    yield invalid('roleRef', binding.roleRef ?? null, 'cannot change roleRef');
  }
}

function* subjectErrors(subject: JsonObject, path: string, isNamespaced: boolean): Generator<FieldError> {
  const { kind = '', name = '', apiGroup = '', namespace = '' } = subject;
  if (name === '') yield required(`${path}.name`);
  if (kind === 'ServiceAccount') {
    if (apiGroup !== '') yield notSupported(`${path}.apiGroup`, apiGroup, ['']);
    if (namespace === '' && !isNamespaced) yield required(`${path}.namespace`);
  } else if (kind === 'User' || kind === 'Group') {
    if (apiGroup !== rbacGroup) yield notSupported(`${path}.apiGroup`, apiGroup, [rbacGroup]);
  } else yield notSupported(`${path}.kind`, kind, ['ServiceAccount', 'User', 'Group']);
}

function isEmpty(list: JsonValue | undefined): list is undefined {
  return !Array.isArray(list) || list.length === 0;
}
