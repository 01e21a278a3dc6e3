import type { KubeObject } from '../api/core.ts';
import { names } from '../api/names.ts';
import { messageOf } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { actions, type Need } from './actions.ts';
import type { ActionName, Right } from './answers.ts';

type Reviewed = KubeObject & { status?: { allowed?: boolean; reason?: string } };

/** The rights of an identity to every action, by asking the cluster (SelfSubjectAccessReview). */
export async function rightsOf(
  client: KubeClient,
  options: { readonly local: boolean },
): Promise<Record<ActionName, Right>> {
  const asked = new Map<string, Promise<Right>>();
  const ask = (need: Need) => {
    const key = `${need.verb} ${need.kind}`;
    const answer = asked.get(key) ?? mayDo(client, need);
    asked.set(key, answer);
    return answer;
  };
  const entries = Object.entries(actions).map(async ([name, action]) => {
    if (action.local === true && !options.local) return [name, { allowed: false, lacks: 'machine' }] as const;
    const answers = await Promise.all(action.needs.map(ask));
    return [name, answers.find((answer) => !answer.allowed) ?? { allowed: true }] as const;
  });
  return Object.fromEntries(await Promise.all(entries)) as Record<ActionName, Right>;
}

async function mayDo(client: KubeClient, need: Need): Promise<Right> {
  const kind = client.kinds[need.kind];
  const { clusterVersionNamespace } = names(client.platform);
  const resourceAttributes = {
    verb: need.verb,
    group: kind.group,
    resource: kind.plural,
    ...(kind.namespaced ? { namespace: clusterVersionNamespace } : {}),
  };
  const where = kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`;
  try {
    const answer = (await client.raw({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes },
      },
    })) as Reviewed;
    return answer.status?.allowed === true
      ? { allowed: true }
      : { allowed: false, lacks: 'right', what: `${need.verb} ${where}` };
  } catch (error) {
    return { allowed: false, lacks: 'answer', what: messageOf(error) }; // Unknown means no.
  }
}

/** The name by which the cluster knows an identity (SelfSubjectReview). Errors: Unauthorized, Unreachable. */
export async function userOf(client: KubeClient): Promise<string> {
  const answer = (await client.raw({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  })) as { status?: { userInfo?: { username?: string } } };
  return answer.status?.userInfo?.username ?? 'unknown';
}
