import type { IncomingMessage, ServerResponse } from 'node:http';
import type { UserInfo } from '../policy/rbac.ts';
import type { Engine, FieldValidation, WriteContext, WriteResult } from '../rest/engine.ts';
import type { ListQuery } from '../rest/list-options.ts';
import type { Served } from '../served.ts';
import { badRequest, notFound, pathNotFound } from '../status.ts';
import { metadataOf, tableOf } from '../table/table.ts';
import { flag, number, type ResourceRequest, text } from './request.ts';
import { type Accepted, negotiate, sendJson } from './respond.ts';

/** One request for a resource and all that is known about it. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly info: ResourceRequest;
  readonly served: Served;
  readonly user: UserInfo;
  readonly accepted: Accepted;
  readonly context: WriteContext;
}

/** Reads what is common to all requests for a resource. @throws 404, 406 */
export function openExchange(
  engine: Engine,
  request: IncomingMessage,
  response: ServerResponse,
  info: ResourceRequest,
  user: UserInfo,
): Exchange {
  const served = engine.resources.find(info.apiVersion, info.resource);
  if (served === undefined) throw pathNotFound();
  if (info.namespace !== '' && !served.namespaced && served.storage !== 'namespaces') throw pathNotFound();
  const ofNamespace = served.storage === 'namespaces' ? { ...info, namespace: '' } : info;
  if (served.namespaced && info.name !== '' && info.namespace === '') throw notFound(served, info.name);
  return {
    request,
    response,
    info: ofNamespace,
    served,
    user,
    accepted:
      info.subresource === 'log' ? { form: 'json', discovery: undefined } : negotiate(request.headers.accept),
    context: writeContext(info, user),
  };
}

export function writeContext(info: ResourceRequest, user: UserInfo): WriteContext {
  const dryRun = info.query.getAll('dryRun');
  if (dryRun.some((value) => value !== 'All'))
    throw badRequest('dryRun: Unsupported value: supported values: "All"');
  const fieldValidation = text(info.query, 'fieldValidation') ?? 'Warn';
  if (!['Ignore', 'Strict', 'Warn'].includes(fieldValidation)) {
    throw badRequest(`fieldValidation: Unsupported value: ${JSON.stringify(fieldValidation)}`);
  }
  return {
    user,
    dryRun: dryRun.length > 0,
    fieldValidation: fieldValidation as FieldValidation,
    warnings: [],
    ...(fieldValidation === 'Ignore' ? {} : { duplicates: [] }),
  };
}

/** Sends one object in the form that was asked for. */
export function sendObject(
  engine: Engine,
  { response, served, accepted, info, context }: Exchange,
  code: number,
  json: string,
): void {
  const body =
    accepted.form === 'json'
      ? json
      : accepted.form === 'table'
        ? JSON.stringify(tableOf(served, [JSON.parse(json)], includeObject(info), engine.clock.now()))
        : JSON.stringify(metadataOf(JSON.parse(json)));
  sendJson(response, code, body, { warnings: warningsOf(served, context) });
}

/** The warnings of the answer: the kind's own and those that came up. */
export function warningsOf(served: Served, context: WriteContext): readonly string[] {
  const deprecated = served.custom?.deprecationWarning;
  return deprecated === undefined ? context.warnings : [deprecated, ...context.warnings];
}

export function includeObject(info: ResourceRequest): string {
  return text(info.query, 'includeObject') ?? 'Metadata';
}

export function listQuery(info: ResourceRequest): ListQuery {
  const { query } = info;
  return {
    labelSelector: text(query, 'labelSelector'),
    fieldSelector: text(query, 'fieldSelector'),
    limit: number(query, 'limit'),
    continue: text(query, 'continue'),
    resourceVersion: text(query, 'resourceVersion'),
    resourceVersionMatch: text(query, 'resourceVersionMatch'),
    sendInitialEvents: query.has('sendInitialEvents') ? flag(query, 'sendInitialEvents') : undefined,
  };
}

export function sendResult(engine: Engine, exchange: Exchange, result: WriteResult): void {
  sendObject(engine, exchange, result.created === true ? 201 : 200, result.json);
}
