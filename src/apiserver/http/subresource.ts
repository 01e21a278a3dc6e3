import type { KubeObject } from '../object.ts';
import { applyPatchBody, patchTypeOf } from '../patch/patch.ts';
import { bindPod } from '../rest/binding.ts';
import type { Engine } from '../rest/engine.ts';
import { evictPod } from '../rest/eviction.ts';
import { getObject } from '../rest/read.ts';
import { scaleOf, withScale } from '../rest/scale.ts';
import { admit, updateObject } from '../rest/write.ts';
import { badRequest } from '../status.ts';
import { mediaType, readObjectBody, readValueBody } from './body.ts';
import { type Exchange, warningsOf } from './exchange.ts';
import { sendJson } from './respond.ts';
import { requestToken } from './token.ts';
import type { Tools } from './tools.ts';

/** How policies see a request for a token. */
const tokenRequest = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenRequest',
  of: (one: KubeObject) => one,
};

/** Answers a subresource that is not a part of the object; false where it is one. @throws StatusError */
export async function serveSubresource(engine: Engine, tools: Tools, exchange: Exchange): Promise<boolean> {
  const { info, served, context, request, response } = exchange;
  const { namespace, name } = info;
  const answer = (code: number, body: unknown) =>
    sendJson(response, code, JSON.stringify(body), { warnings: warningsOf(served, context) });
  switch (`${served.storage}/${info.subresource}`) {
    case 'pods/log':
      await tools.kubelets.log(engine, exchange);
      return true;
    case 'pods/binding':
      answer(201, await bindPod(engine, namespace, name, await readObjectBody(request), context));
      return true;
    case 'pods/eviction':
      answer(201, await evictPod(engine, namespace, name, await readObjectBody(request), context));
      return true;
    case 'serviceaccounts/token': {
      const body = { ...(await readObjectBody(request)), metadata: { namespace, name } };
      admit(engine, served, 'CREATE', 'token', body, undefined, { ...context, view: tokenRequest });
      answer(201, await requestToken(engine, tools.tokens, tools.audiences, namespace, name, body));
      return true;
    }
  }
  if (info.subresource !== 'scale') return false;
  answer(200, await serveScale(engine, exchange));
  return true;
}

async function serveScale(engine: Engine, exchange: Exchange): Promise<KubeObject> {
  const { info, served, context, request } = exchange;
  const { namespace, name } = info;
  if (info.verb === 'get') {
    return scaleOf(served, JSON.parse(getObject(engine, served, namespace, name)) as KubeObject);
  }
  const body = info.verb === 'patch' ? await readValueBody(request) : await readObjectBody(request);
  const type = info.verb === 'patch' ? patchTypeOf(served, mediaType(request)) : undefined;
  const change = (current: KubeObject): KubeObject => {
    const scale = type === undefined ? body : applyPatchBody(served, type, scaleOf(served, current), body);
    const wanted = scale as KubeObject;
    if (wanted.metadata?.name && wanted.metadata.name !== name) {
      throw badRequest(
        `the name of the object (${wanted.metadata.name}) does not match the name on the URL (${name})`,
      );
    }
    return withScale(served, current, wanted);
  };
  const view = {
    group: 'autoscaling',
    version: 'v1',
    kind: 'Scale',
    of: (one: KubeObject) => scaleOf(served, one),
  };
  const asScale = { ...context, view };
  const result = await updateObject(engine, served, namespace, name, 'scale', change, asScale);
  return scaleOf(served, JSON.parse(result.json) as KubeObject);
}
