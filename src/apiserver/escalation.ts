import { isRecord, list, record } from './object.ts';
import type { Admission } from './policy/admission.ts';
import type { Authorizer, UserInfo } from './policy/rbac.ts';
import type { AdmissionRequest } from './policy/request.ts';
import type { Engine } from './rest/engine.ts';
import { readObject } from './rest/read.ts';

const group = 'rbac.authorization.k8s.io';
const apiVersion = `${group}/v1`;

/** What a check finds: nothing, or why the write is refused. */
type Refusal = { readonly code: number; readonly reason: string; readonly message: string } | undefined;

/**
 * Nobody grants rights that they do not have, unless they may `escalate` roles or `bind` them (kubernetes,
 * pkg/registry/rbac/*\/policybased). Everything else is judged by `then`.
 */
export function withoutEscalation(engine: Engine, authorizer: Authorizer, then: Admission): Admission {
  return {
    review(request) {
      const denied = request.group === group ? escalation(engine, authorizer, request) : undefined;
      return denied === undefined ? then.review(request) : { denied, warnings: [], audit: {} };
    },
  };
}

function escalation(engine: Engine, authorizer: Authorizer, request: AdmissionRequest): Refusal {
  const { user, object, resource, operation } = request;
  if ((operation !== 'CREATE' && operation !== 'UPDATE') || object === null) return undefined;
  if (user.groups.includes('system:masters')) return undefined;
  const namespace = request.namespace ?? '';
  const attributes = { group, resource, namespace, name: request.name };
  if (resource === 'roles' || resource === 'clusterroles') {
    if (authorizer.authorize(user, { verb: 'escalate', ...attributes }).allowed) return undefined;
    if (isRecord(object.aggregationRule) && !mayEverything(authorizer, user)) {
      return refused('must have cluster-admin privileges to use the aggregationRule');
    }
    return ungranted(authorizer, user, namespace, list(object.rules));
  }
  if (resource !== 'rolebindings' && resource !== 'clusterrolebindings') return undefined;
  const reference = record(object.roleRef);
  const plural = reference.kind === 'ClusterRole' ? 'clusterroles' : 'roles';
  const name = String(reference.name ?? '');
  const bind = { verb: 'bind', group, resource: plural, namespace, name };
  if (authorizer.authorize(user, bind).allowed) return undefined;
  const role = readObject(
    engine,
    engine.resources.builtIn(apiVersion, plural),
    plural === 'roles' ? namespace : '',
    name,
  );
  if (role === undefined) {
    return { code: 404, reason: 'NotFound', message: `${plural}.${group} ${JSON.stringify(name)} not found` };
  }
  return ungranted(authorizer, user, namespace, list(role.rules));
}

function mayEverything(authorizer: Authorizer, user: UserInfo): boolean {
  return (
    authorizer.authorize(user, { verb: '*', group: '*', resource: '*' }).allowed &&
    authorizer.authorize(user, { verb: '*', path: '*' }).allowed
  );
}

function refused(message: string): Refusal {
  return { code: 403, reason: 'Forbidden', message };
}

/** A refusal that names the rules that the user does not have. */
function ungranted(
  authorizer: Authorizer,
  user: UserInfo,
  namespace: string,
  rules: readonly unknown[],
): Refusal {
  const lacking = rules.map(record).filter((rule) => !covered(authorizer, user, namespace, rule));
  if (lacking.length === 0) return undefined;
  const groups = user.groups.map((name) => JSON.stringify(name)).join(' ');
  const who = `user ${JSON.stringify(user.username)} (groups=[${groups}])`;
  const shown = lacking.map(ruleText).join('\n');
  return refused(`${who} is attempting to grant RBAC permissions not currently held:\n${shown}`);
}

/** A star in a rule is only held by who has the star, so asking for it as if it were a name is enough. */
function covered(
  authorizer: Authorizer,
  user: UserInfo,
  namespace: string,
  rule: Record<string, unknown>,
): boolean {
  const texts = (field: string) => list(rule[field]).map(String);
  const may = (attributes: Parameters<Authorizer['authorize']>[1]) =>
    authorizer.authorize(user, attributes).allowed;
  const names = texts('resourceNames').length === 0 ? [''] : texts('resourceNames');
  return texts('verbs').every(
    (verb) =>
      texts('nonResourceURLs').every((path) => may({ verb, path })) &&
      texts('apiGroups').every((apiGroup) =>
        texts('resources').every((pattern) => {
          const [resource = '', subresource] = pattern.split('/');
          return names.every((name) =>
            may({ verb, group: apiGroup, resource, subresource, namespace, name }),
          );
        }),
      ),
  );
}

/** A rule in the words of the real server (rbac/v1helpers, CompactString). */
function ruleText(rule: Record<string, unknown>): string {
  const fields = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['ResourceNames', rule.resourceNames],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['Verbs', rule.verbs],
  ] as const;
  const shown = fields
    .filter(([, values]) => list(values).length > 0)
    .map(
      ([name, values]) =>
        `${name}:[${list(values)
          .map((value) => JSON.stringify(value))
          .join(' ')}]`,
    );
  return `{${shown.join(', ')}}`;
}
