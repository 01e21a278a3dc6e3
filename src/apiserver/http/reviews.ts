import { type KubeObject, list, record } from '../object.ts';
import type { Attributes, Authorizer, UserInfo } from '../policy/rbac.ts';
import type { TokenIssuer } from '../policy/token.ts';
import { badRequest } from '../status.ts';

export interface ReviewTools {
  readonly authorizer: Authorizer;
  readonly tokens: TokenIssuer | undefined;
}

/** Answers a review: an object that is asked, not stored (authentication.k8s.io, authorization.k8s.io). @throws 400 */
export async function review(
  tools: ReviewTools,
  kind: string,
  namespace: string,
  body: KubeObject,
  user: UserInfo,
): Promise<KubeObject> {
  const spec = record(body.spec);
  const answered = (status: unknown): KubeObject => ({
    ...body,
    metadata: { ...record(body.metadata), creationTimestamp: null } as unknown as KubeObject['metadata'],
    status,
  });
  switch (kind) {
    case 'SelfSubjectReview':
      return answered({ userInfo: userStatus(user) });
    case 'SelfSubjectAccessReview':
      return answered(access(tools, user, spec));
    case 'SelfSubjectRulesReview':
      return answered(rulesStatus(tools, user, String(spec.namespace ?? '')));
    case 'SubjectAccessReview':
      return answered(access(tools, subjectOf(spec), spec));
    case 'LocalSubjectAccessReview':
      if (record(spec.resourceAttributes).namespace !== namespace) {
        throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`);
      }
      return answered(access(tools, subjectOf(spec), spec));
    case 'TokenReview':
      return answered(await tokenStatus(tools, spec));
    default:
      throw badRequest(`${kind} cannot be answered`);
  }
}

function rulesStatus(tools: ReviewTools, user: UserInfo, namespace: string): unknown {
  if (namespace === '') throw badRequest('no namespace on request');
  const rules = tools.authorizer.rulesFor(user, namespace);
  const named = (names: readonly string[]) => (names.length === 0 ? {} : { resourceNames: names });
  return {
    resourceRules: rules
      .filter((rule) => rule.nonResourceURLs.length === 0)
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({
        verbs,
        apiGroups,
        resources,
        ...named(resourceNames),
      })),
    nonResourceRules: rules
      .filter((rule) => rule.nonResourceURLs.length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
  };
}

function subjectOf(spec: Record<string, unknown>): UserInfo {
  const groups = list(spec.groups).map(String);
  if (typeof spec.user !== 'string' && groups.length === 0) {
    throw badRequest('spec.user: at least one of user or group must be specified');
  }
  const uid = typeof spec.uid === 'string' ? { uid: spec.uid } : {};
  const extra = spec.extra === undefined ? {} : { extra: spec.extra as Record<string, string[]> };
  return { username: String(spec.user ?? ''), groups, ...uid, ...extra };
}

function access(tools: ReviewTools, user: UserInfo, spec: Record<string, unknown>): unknown {
  const decision = tools.authorizer.authorize(user, attributesOf(spec));
  // The real authorizer says why something is allowed, and leaves a refusal without words.
  if (!decision.allowed) return { allowed: false };
  return { allowed: true, ...(decision.reason === '' ? {} : { reason: decision.reason }) };
}

function attributesOf(spec: Record<string, unknown>): Attributes {
  const asked = spec.resourceAttributes;
  const path = spec.nonResourceAttributes;
  if ((asked === undefined) === (path === undefined)) {
    throw badRequest('spec: exactly one of nonResourceAttributes or resourceAttributes must be specified');
  }
  if (path !== undefined) {
    const { verb, path: where } = record(path);
    return { verb: String(verb ?? ''), path: String(where ?? '') };
  }
  const { verb, group, resource, subresource, namespace, name } = record(asked);
  const optional = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);
  return {
    verb: String(verb ?? ''),
    group: String(group ?? ''),
    resource: String(resource ?? ''),
    subresource: optional(subresource),
    namespace: optional(namespace),
    name: optional(name),
  };
}

async function tokenStatus(tools: ReviewTools, spec: Record<string, unknown>): Promise<unknown> {
  const asked = list(spec.audiences).map(String);
  const token = String(spec.token ?? '');
  const found = await tools.tokens?.verify(token, asked.length === 0 ? undefined : asked);
  if (found === undefined) {
    return { user: {}, error: 'the token is not valid' };
  }
  return { authenticated: true, user: userStatus(found.user), audiences: found.audiences };
}

/** authentication.k8s.io UserInfo. */
export function userStatus({ username, uid, groups, extra }: UserInfo): unknown {
  return {
    username,
    ...(uid === undefined ? {} : { uid }),
    groups,
    ...(extra === undefined ? {} : { extra }),
  };
}
