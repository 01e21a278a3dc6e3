import { selects } from '../../api/selector.ts';
import { isObject, type JsonObject, type JsonValue, stringAt, valueAt } from '../schema/json.ts';

/** Who asks. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What is asked: a resource, or a path that is none. */
export type Attributes =
  | {
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly subresource?: string | undefined;
      readonly namespace?: string | undefined;
      readonly name?: string | undefined;
    }
  | { readonly verb: string; readonly path: string };

export interface Decision {
  readonly allowed: boolean;
  /** Why (allowed: the rule that grants; denied: kube-apiserver's message without the `… is forbidden: ` before it). */
  readonly reason: string;
}

/** The RBAC objects as they stand; asked for again after `changed()`. */
export interface RbacSource {
  roles(): readonly JsonObject[];
  clusterRoles(): readonly JsonObject[];
  roleBindings(): readonly JsonObject[];
  clusterRoleBindings(): readonly JsonObject[];
}

/** One rule of a role, read once. Empty lists grant nothing. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface Authorizer {
  authorize(user: UserInfo, attributes: Attributes): Decision;
  /** All rules that a user has in a namespace (and in the whole cluster): SelfSubjectRulesReview. */
  rulesFor(user: UserInfo, namespace: string): readonly PolicyRule[];
  /** To be called when an RBAC object was written or deleted. */
  changed(): void;
}

/** The group that may do everything, whatever roles say. */
const masters = 'system:masters';

/** A rule that a subject has, and by which binding. */
interface Grant {
  readonly rule: PolicyRule;
  /** Empty: in the whole cluster. */
  readonly namespace: string;
  readonly why: string;
}

/** Role-based access control (rbac.authorization.k8s.io/v1) over an index by subject that is made again after a change. */
export function createAuthorizer(source: RbacSource): Authorizer {
  let index: ReadonlyMap<string, readonly Grant[]> | undefined;

  const grantsOf = function* (user: UserInfo): Generator<Grant> {
    index ??= buildIndex(source);
    yield* index.get(`User/${user.username}`) ?? [];
    for (const group of user.groups) yield* index.get(`Group/${group}`) ?? [];
  };

  return {
    authorize: (user, attributes) => {
      if (user.groups.includes(masters)) return { allowed: true, reason: '' };
      const namespace = 'path' in attributes ? '' : (attributes.namespace ?? '');
      for (const grant of grantsOf(user)) {
        if (grant.namespace !== '' && (grant.namespace !== namespace || 'path' in attributes)) continue;
        if (ruleAllows(grant.rule, attributes))
          return { allowed: true, reason: `RBAC: allowed by ${grant.why}` };
      }
      return { allowed: false, reason: denial(user, attributes) };
    },
    rulesFor: (user, namespace) => {
      const everything: PolicyRule[] = user.groups.includes(masters) ? [...allRules] : [];
      const granted = [...grantsOf(user)].filter(
        (grant) => grant.namespace === '' || grant.namespace === namespace,
      );
      return [...everything, ...granted.map((grant) => grant.rule)];
    },
    changed: () => {
      index = undefined;
    },
  };
}

const all = ['*'];
const allRules: readonly PolicyRule[] = [
  { verbs: all, apiGroups: all, resources: all, resourceNames: [], nonResourceURLs: [] },
  { verbs: all, apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: all },
];

/** Whether one rule allows what is asked (kubernetes, plugin/pkg/auth/authorizer/rbac: RuleAllows). */
export function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!rule.verbs.includes('*') && !rule.verbs.includes(attributes.verb)) return false;
  if ('path' in attributes) return rule.nonResourceURLs.some((url) => matchesPath(url, attributes.path));
  const { group, resource, subresource = '', name = '' } = attributes;
  if (!rule.apiGroups.includes('*') && !rule.apiGroups.includes(group)) return false;
  if (!rule.resources.some((pattern) => matchesResource(pattern, resource, subresource))) return false;
  return rule.resourceNames.length === 0 || rule.resourceNames.includes(name);
}

function matchesResource(pattern: string, resource: string, subresource: string): boolean {
  if (pattern === '*') return true;
  const asked = subresource === '' ? resource : `${resource}/${subresource}`;
  return pattern === asked || (subresource !== '' && pattern === `*/${subresource}`);
}

function matchesPath(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true;
  return pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1));
}

/** The words of kube-apiserver, which people and tools look for. */
function denial(user: UserInfo, attributes: Attributes): string {
  const who = `User ${JSON.stringify(user.username)} cannot ${attributes.verb}`;
  if ('path' in attributes) return `${who} path ${JSON.stringify(attributes.path)}`;
  const { group, resource, subresource = '', namespace = '' } = attributes;
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  return `${who} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}`;
}

function buildIndex(source: RbacSource): Map<string, Grant[]> {
  const clusterRoles = new Map(source.clusterRoles().map((role) => [nameOf(role), role]));
  const roles = new Map(source.roles().map((role) => [`${namespaceOf(role)}/${nameOf(role)}`, role]));
  const index = new Map<string, Grant[]>();
  const add = (binding: JsonObject, kind: 'ClusterRoleBinding' | 'RoleBinding') => {
    const namespace = kind === 'RoleBinding' ? namespaceOf(binding) : '';
    const roleKind = stringAt(binding, 'roleRef', 'kind') ?? '';
    const roleName = stringAt(binding, 'roleRef', 'name') ?? '';
    const role =
      roleKind === 'ClusterRole'
        ? clusterRoles.get(roleName)
        : kind === 'RoleBinding' && roleKind === 'Role'
          ? roles.get(`${namespace}/${roleName}`)
          : undefined;
    if (role === undefined) return;
    const rules = roleRules(role, clusterRoles);
    const shown = kind === 'RoleBinding' ? `"${nameOf(binding)}/${namespace}"` : `"${nameOf(binding)}"`;
    for (const subject of objects(binding.subjects)) {
      const key = subjectKey(subject, namespace);
      if (key === undefined) continue;
      const why = `${kind} ${shown} of ${roleKind} "${roleName}" to ${subjectText(subject, namespace)}`;
      const grants = index.get(key) ?? [];
      index.set(key, grants);
      grants.push(...rules.map((rule) => ({ rule, namespace, why })));
    }
  };
  for (const binding of source.clusterRoleBindings()) add(binding, 'ClusterRoleBinding');
  for (const binding of source.roleBindings()) add(binding, 'RoleBinding');
  return index;
}

/** The rules of a role; an aggregated ClusterRole has those of the roles that it selects, which may be aggregated too. */
function roleRules(
  role: JsonObject,
  clusterRoles: ReadonlyMap<string, JsonObject>,
  visited: Set<JsonObject> = new Set(),
): PolicyRule[] {
  if (visited.has(role)) return [];
  visited.add(role);
  const selectors = objects(valueAt(role, 'aggregationRule', 'clusterRoleSelectors'));
  if (selectors.length === 0) return readRules(role);
  return [...clusterRoles.values()].flatMap((other) => {
    const labels = valueAt(other, 'metadata', 'labels');
    const known = (isObject(labels) ? labels : {}) as Record<string, string>;
    const isSelected = selectors.some((selector) => selects(selector, known));
    return isSelected ? roleRules(other, clusterRoles, visited) : [];
  });
}

function readRules(role: JsonObject): PolicyRule[] {
  return objects(role.rules).map((rule) => ({
    verbs: texts(rule.verbs),
    apiGroups: texts(rule.apiGroups),
    resources: texts(rule.resources),
    resourceNames: texts(rule.resourceNames),
    nonResourceURLs: texts(rule.nonResourceURLs),
  }));
}

function subjectKey(subject: JsonObject, namespace: string): string | undefined {
  const name = stringAt(subject, 'name') ?? '';
  switch (subject.kind) {
    case 'User':
    case 'Group':
      return `${subject.kind}/${name}`;
    case 'ServiceAccount': {
      const own = stringAt(subject, 'namespace') || namespace;
      return own === '' ? undefined : `User/system:serviceaccount:${own}:${name}`;
    }
    default:
      return undefined;
  }
}

function subjectText(subject: JsonObject, namespace: string): string {
  const name = stringAt(subject, 'name') ?? '';
  if (subject.kind !== 'ServiceAccount') return `${subject.kind} "${name}"`;
  return `ServiceAccount "${name}/${stringAt(subject, 'namespace') || namespace}"`;
}

function objects(list: JsonValue | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

function texts(list: JsonValue | undefined): string[] {
  return Array.isArray(list) ? list.filter((entry) => typeof entry === 'string') : [];
}

function nameOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'name') ?? '';
}

function namespaceOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'namespace') ?? '';
}
