import type { IncomingMessage } from 'node:http';
import type { Authorizer, UserInfo } from '../policy/rbac.ts';
import { badRequest, forbidden } from '../status.ts';

const extraPrefix = 'impersonate-extra-';
const serviceAccountPrefix = 'system:serviceaccount:';

/**
 * The user that a request is made as (kubectl --as), where the one who makes it may do that
 * (kubernetes, authentication/user-impersonation). @throws 400, 403
 */
export function impersonate(request: IncomingMessage, user: UserInfo, authorizer: Authorizer): UserInfo {
  const { headersDistinct } = request;
  const name = headersDistinct['impersonate-user']?.[0];
  const groups = headersDistinct['impersonate-group'] ?? [];
  const extras = Object.entries(headersDistinct).filter(([header]) => header.startsWith(extraPrefix));
  if (name === undefined) {
    if (groups.length > 0 || extras.length > 0) {
      throw badRequest('requested groups or extra info without impersonating a user');
    }
    return user;
  }
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
  if (account === null) require(authorizer, user, 'users', undefined, name);
  else require(authorizer, user, 'serviceaccounts', account[1], account[2] ?? '');
  for (const group of groups) require(authorizer, user, 'groups', undefined, group);
  const extra: Record<string, string[]> = {};
  for (const [header, values = []] of extras) {
    const key = decodeURIComponent(header.slice(extraPrefix.length));
    for (const value of values) require(authorizer, user, 'userextras', undefined, value, key);
    extra[key] = values;
  }
  return {
    username: name,
    groups: [...groupsOf(name, groups, account?.[1])],
    ...(extras.length === 0 ? {} : { extra }),
  };
}

function groupsOf(name: string, asked: readonly string[], namespace: string | undefined): Set<string> {
  const groups = new Set(asked);
  if (asked.length === 0 && namespace !== undefined && name.startsWith(serviceAccountPrefix)) {
    groups.add('system:serviceaccounts').add(`system:serviceaccounts:${namespace}`);
  }
  return groups.add(name === 'system:anonymous' ? 'system:unauthenticated' : 'system:authenticated');
}

function require(
  authorizer: Authorizer,
  user: UserInfo,
  resource: string,
  namespace: string | undefined,
  name: string,
  subresource?: string,
): void {
  const group =
    resource === 'users' || resource === 'groups' || resource === 'serviceaccounts'
      ? ''
      : 'authentication.k8s.io';
  const attributes = { verb: 'impersonate', group, resource, namespace, name, subresource };
  const decision = authorizer.authorize(user, attributes);
  if (!decision.allowed) throw forbidden({ group, plural: resource }, name, decision.reason);
}
