import { isRecord, type KubeObject } from '../object.ts';
import { applyPatchBody, patchTypeOf } from '../patch/patch.ts';
import { type DeleteOptions, deleteCollection, deleteObject } from '../rest/delete.ts';
import type { Engine } from '../rest/engine.ts';
import { getObject, listObjects } from '../rest/read.ts';
import { createObject, updateObject } from '../rest/write.ts';
import { subresourceOf } from '../served.ts';
import { badRequest, methodNotAllowed, pathNotFound } from '../status.ts';
import { metadataOf, tableOf } from '../table/table.ts';
import { mediaType, readObjectBody, readOptionalBody, readValueBody } from './body.ts';
import { type Exchange, includeObject, listQuery, sendObject, sendResult, warningsOf } from './exchange.ts';
import { number, text } from './request.ts';
import { sendJson } from './respond.ts';
import { review } from './reviews.ts';
import { serveSubresource } from './subresource.ts';
import type { Tools } from './tools.ts';
import { serveWatch } from './watch.ts';

/** Answers a request for a resource or its status. @throws StatusError */
export async function serveResource(engine: Engine, tools: Tools, exchange: Exchange): Promise<void> {
  const { info, served } = exchange;
  if (info.subresource !== '') {
    const subresource = subresourceOf(served, info.subresource);
    if (subresource === undefined) throw pathNotFound();
    const verb = info.verb === 'list' || info.verb === 'watch' ? 'get' : info.verb;
    if (!(subresource.verbs as readonly string[]).includes(verb)) throw methodNotAllowed();
    if (await serveSubresource(engine, tools, exchange)) return;
  } else if (!(served.verbs as readonly string[]).includes(info.verb)) {
    throw methodNotAllowed();
  }
  switch (info.verb) {
    case 'get':
      return get(engine, exchange);
    case 'list':
      return listAll(engine, exchange);
    case 'watch':
      return serveWatch(engine, exchange);
    case 'create':
      return await create(engine, tools, exchange);
    case 'update':
      return await update(engine, exchange);
    case 'patch':
      return await patch(engine, exchange);
    case 'delete':
      return await remove(engine, exchange);
    case 'deletecollection':
      return await removeAll(engine, exchange);
    default:
      throw methodNotAllowed();
  }
}

function get(engine: Engine, exchange: Exchange): void {
  const { info, served } = exchange;
  const json = getObject(engine, served, info.namespace, info.name);
  sendObject(engine, exchange, 200, json);
}

function listAll(engine: Engine, exchange: Exchange): void {
  const { info, served, response, accepted, context } = exchange;
  const page = listObjects(engine, served, info.namespace, listQuery(info));
  const metadata = {
    resourceVersion: String(page.revision),
    ...(page.continue === undefined ? {} : { continue: page.continue }),
    ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
  };
  const warnings = warningsOf(served, context);
  if (accepted.form === 'json') {
    const head = `{"kind":"${served.listKind}","apiVersion":"${served.apiVersion}","metadata":${JSON.stringify(metadata)}`;
    sendJson(response, 200, `${head},"items":[${page.items.join(',')}]}`, { warnings });
    return;
  }
  const objects = page.items.map((json) => JSON.parse(json) as KubeObject);
  const body =
    accepted.form === 'table'
      ? { ...tableOf(served, objects, includeObject(info), engine.clock.now()), metadata }
      : {
          kind: 'PartialObjectMetadataList',
          apiVersion: 'meta.k8s.io/v1',
          metadata,
          items: objects.map(metadataOf),
        };
  sendJson(response, 200, JSON.stringify(body), { warnings });
}

async function create(engine: Engine, tools: Tools, exchange: Exchange): Promise<void> {
  const { info, served, context, request, response, user } = exchange;
  if (info.name !== '') throw methodNotAllowed();
  const body = await readObjectBody(request, context.duplicates);
  if (served.namespaced && info.namespace === '') {
    throw badRequest('the namespace of the object must be in the path');
  }
  if (served.role === 'review') {
    const answer = await review(tools, served.kind, info.namespace, body, user);
    sendJson(response, 201, JSON.stringify(answer));
    return;
  }
  sendResult(engine, exchange, await createObject(engine, served, info.namespace, body, context));
}

async function update(engine: Engine, exchange: Exchange): Promise<void> {
  const { info, served, context, request } = exchange;
  const body = await readObjectBody(request, context.duplicates);
  const { namespace, name, subresource } = info;
  const result = await updateObject(engine, served, namespace, name, subresource, () => body, context);
  sendResult(engine, exchange, result);
}

async function patch(engine: Engine, exchange: Exchange): Promise<void> {
  const { info, served, context, request } = exchange;
  const type = patchTypeOf(served, mediaType(request));
  const body = await readValueBody(request);
  const { namespace, name, subresource } = info;
  const change = (current: KubeObject) => applyPatchBody(served, type, current, body);
  sendResult(
    engine,
    exchange,
    await updateObject(engine, served, namespace, name, subresource, change, { ...context, isPatch: true }),
  );
}

async function deleteOptions({ request, info }: Exchange): Promise<DeleteOptions & { dryRun: boolean }> {
  const body = (await readOptionalBody(request)) ?? {};
  const { query } = info;
  const grace = body.gracePeriodSeconds ?? number(query, 'gracePeriodSeconds');
  const policy = body.propagationPolicy ?? text(query, 'propagationPolicy');
  return {
    ...(typeof grace === 'number' ? { gracePeriodSeconds: grace } : {}),
    ...(typeof policy === 'string' ? { propagationPolicy: policy } : {}),
    ...(typeof body.orphanDependents === 'boolean' ? { orphanDependents: body.orphanDependents } : {}),
    ...(isRecord(body.preconditions) ? { preconditions: body.preconditions } : {}),
    dryRun: Array.isArray(body.dryRun) && body.dryRun.includes('All'),
  };
}

async function remove(engine: Engine, exchange: Exchange): Promise<void> {
  const { info, served, response } = exchange;
  const { dryRun, ...options } = await deleteOptions(exchange);
  const context = { ...exchange.context, dryRun: dryRun || exchange.context.dryRun };
  const result = await deleteObject(engine, served, info.namespace, info.name, options, context);
  sendJson(response, 200, result.json, { warnings: context.warnings });
}

async function removeAll(engine: Engine, exchange: Exchange): Promise<void> {
  const { info, served, response } = exchange;
  const { dryRun, ...options } = await deleteOptions(exchange);
  const context = { ...exchange.context, dryRun: dryRun || exchange.context.dryRun };
  const list = await deleteCollection(engine, served, info.namespace, listQuery(info), options, context);
  sendJson(response, 200, list, { warnings: context.warnings });
}
