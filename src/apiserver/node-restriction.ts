import { record } from './object.ts';
import type { Admission } from './policy/admission.ts';
import type { AdmissionRequest } from './policy/request.ts';
import type { Engine } from './rest/engine.ts';
import { readObject } from './rest/read.ts';

const userPrefix = 'system:node:';

/**
 * A node writes only the Pods that run on it, and gets tokens only for those: a node that was taken over must not
 * become whoever runs on another (kubernetes, plugin/pkg/admission/noderestriction and the edges of its node
 * authorizer). Everything else is judged by `then`.
 */
export function withinNode(engine: Engine, then: Admission): Admission {
  return {
    review(request) {
      const { groups, username } = request.user;
      const isNode = groups.includes('system:nodes') && username.startsWith(userPrefix);
      const message = isNode ? trespass(engine, request, username.slice(userPrefix.length)) : undefined;
      if (message === undefined) return then.review(request);
      return { denied: { code: 403, reason: 'Forbidden', message }, warnings: [], audit: {} };
    },
  };
}

/** Why a node may not do this; undefined where it may. */
function trespass(engine: Engine, request: AdmissionRequest, node: string): string | undefined {
  const { group, resource, subresource, oldObject, object } = request;
  if (group !== '') return undefined;
  if (resource === 'pods') {
    if (record((oldObject ?? object)?.spec).nodeName === node) return undefined;
    return `node "${node}" can only write pods with spec.nodeName set to itself`;
  }
  if (resource !== 'serviceaccounts' || subresource !== 'token') return undefined;
  const { kind, name, uid } = record(record(object?.spec).boundObjectRef);
  if (kind !== 'Pod') return `node requested token not bound to a pod`;
  const pods = engine.resources.builtIn('v1', 'pods');
  const pod = readObject(engine, pods, request.namespace ?? '', String(name));
  const { nodeName, serviceAccountName = 'default' } = record(pod?.spec);
  const isItsPod = nodeName === node && serviceAccountName === request.name && uid === pod?.metadata.uid;
  return isItsPod ? undefined : `node requested token bound to a pod scheduled on a different node`;
}
