import { list, record } from './object.ts';
import type { Attributes, Authorizer, UserInfo } from './policy/rbac.ts';
import type { Engine } from './rest/engine.ts';
import { readObjects } from './rest/read.ts';

const userPrefix = 'system:node:';

/**
 * A node reads the Secrets and ConfigMaps that the Pods bound to it name, one by one, and no others (kubernetes,
 * plugin/pkg/auth/authorizer/node): who takes a node over must not have every Secret of the cluster. What roles
 * allow is allowed besides.
 */
export function withNodeReads(engine: Engine, roles: Authorizer): Authorizer {
  return {
    ...roles,
    authorize(user, attributes) {
      const decision = roles.authorize(user, attributes);
      if (decision.allowed || !isNamedByItsPods(engine, user, attributes)) return decision;
      return { allowed: true, reason: 'Node: named by a Pod that is bound to it' };
    },
  };
}

function isNamedByItsPods(engine: Engine, user: UserInfo, asked: Attributes): boolean {
  if (!user.groups.includes('system:nodes') || !user.username.startsWith(userPrefix)) return false;
  if ('path' in asked || asked.verb !== 'get' || asked.group !== '' || asked.subresource) return false;
  const { resource, namespace, name } = asked;
  if (resource !== 'secrets' && resource !== 'configmaps') return false;
  if (!namespace || !name) return false;
  const node = user.username.slice(userPrefix.length);
  const pods = readObjects(engine, engine.resources.builtIn('v1', 'pods'), namespace);
  return pods.some((pod) => {
    const spec = record(pod.spec);
    return spec.nodeName === node && namesIn(spec, resource).includes(name);
  });
}

/** Names of the Secrets or the ConfigMaps that a Pod's spec names. */
function namesIn(spec: Record<string, unknown>, resource: 'secrets' | 'configmaps'): unknown[] {
  const isSecret = resource === 'secrets';
  const names: unknown[] = [];
  const add = (value: unknown) => names.push(record(value).name);
  for (const container of [spec.initContainers, spec.containers, spec.ephemeralContainers].flatMap(list)) {
    for (const source of list(record(container).envFrom)) {
      add(isSecret ? record(source).secretRef : record(source).configMapRef);
    }
    for (const variable of list(record(container).env)) {
      const from = record(record(variable).valueFrom);
      add(isSecret ? from.secretKeyRef : from.configMapKeyRef);
    }
  }
  for (const volume of list(spec.volumes).map(record)) {
    if (isSecret) names.push(record(volume.secret).secretName);
    else add(volume.configMap);
    for (const source of list(record(volume.projected).sources).map(record)) {
      add(isSecret ? source.secret : source.configMap);
    }
  }
  if (isSecret) list(spec.imagePullSecrets).forEach(add);
  return names.filter((name) => name !== undefined);
}
