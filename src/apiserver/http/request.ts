import type { IncomingMessage } from 'node:http';
import { badRequest } from '../status.ts';

/** A request for resources, or for a path that is none (kubernetes, apiserver/pkg/endpoints/request). */
export type RequestInfo = ResourceRequest | PathRequest;

export interface PathRequest {
  readonly kind: 'path';
  readonly verb: string;
  readonly path: string;
  readonly query: URLSearchParams;
}

export interface ResourceRequest {
  readonly kind: 'resource';
  /** As authorization names it: get, list, watch, create, update, patch, delete, deletecollection. */
  readonly verb: string;
  readonly apiVersion: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  /** What stands behind the subresource (a proxied path). */
  readonly rest: string;
  readonly path: string;
  readonly query: URLSearchParams;
}

/** Subresources of a Namespace; any other word behind a namespace's name is a resource in it. */
const namespaceSubresources = new Set(['status', 'finalize']);

/** Longest URL that is read. */
const urlCharactersMax = 16 * 1024;

export function readRequestInfo(request: IncomingMessage): RequestInfo {
  const raw = request.url ?? '/';
  if (raw.length > urlCharactersMax) throw badRequest('the URL is too long');
  const question = raw.indexOf('?');
  const path = question < 0 ? raw : raw.slice(0, question);
  const query = new URLSearchParams(question < 0 ? '' : raw.slice(question + 1));
  const method = request.method ?? 'GET';
  const other: PathRequest = { kind: 'path', verb: method.toLowerCase(), path, query };
  const segments = path.split('/').slice(1);
  const isCore = segments[0] === 'api';
  const found = isCore ? segments.slice(2) : segments.slice(3);
  if ((!isCore && segments[0] !== 'apis') || found.length === 0 || found[0] === '') return other;
  const group = isCore ? '' : (segments[1] ?? '');
  const version = (isCore ? segments[1] : segments[2]) ?? '';
  const parts = found.map(decodeSegment);
  if (parts.at(-1) === '') parts.pop();
  const named = resourceParts(parts);
  return {
    kind: 'resource',
    verb: verbOf(method, named.name, query),
    apiVersion: group === '' ? version : `${group}/${version}`,
    group,
    version,
    ...named,
    path,
    query,
  };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw badRequest('the path is not percent-encoded as it must be');
  }
}

function resourceParts(parts: readonly string[]) {
  let namespace = '';
  let from = 0;
  if (parts[0] === 'namespaces' && parts[1] !== undefined) {
    namespace = parts[1];
    if (parts[2] !== undefined && !namespaceSubresources.has(parts[2])) from = 2;
  }
  const [resource = '', name = '', subresource = '', ...rest] = parts.slice(from);
  return { namespace, resource, name, subresource, rest: rest.join('/') };
}

function verbOf(method: string, name: string, query: URLSearchParams): string {
  switch (method) {
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === '' ? 'deletecollection' : 'delete';
    case 'GET':
    case 'HEAD':
      if (name !== '') return 'get';
      return flag(query, 'watch') ? 'watch' : 'list';
    default:
      return '';
  }
}

/** A query parameter that is a boolean, as Go's strconv reads it. */
export function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && !['0', 'f', 'F', 'false', 'False', 'FALSE'].includes(value);
}

export function number(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  if (!/^-?\d{1,15}$/.test(value))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  return Number(value);
}

export function text(query: URLSearchParams, name: string): string | undefined {
  return query.get(name) ?? undefined;
}
