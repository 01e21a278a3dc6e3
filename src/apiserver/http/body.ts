import type { IncomingMessage } from 'node:http';
import { parse as parseYaml } from 'yaml';
import { readBody } from '../../http/server.ts';
import { isRecord, type KubeObject } from '../object.ts';
import { decodeProtobuf } from '../protobuf/decode.ts';
import { badRequest, StatusError, unsupportedMediaType } from '../status.ts';
import { duplicateMembers } from './duplicates.ts';

/** Largest body of a write, as etcd and the real server together allow. */
export const bodyBytesMax = 3 * 1024 * 1024;
/** Deepest nesting of a body. */
const depthMax = 128;

/**
 * Largest body in YAML. Reading YAML can take the square of its length; kubectl and client libraries send JSON.
 */
const yamlBytesMax = 32 * 1024;

const protobufType = 'application/vnd.kubernetes.protobuf';

/** A body without a type is JSON. */
const textTypes = ['', 'application/json', 'application/yaml'];
const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
];

export function mediaType(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/**
 * The object in a request's body (JSON, YAML, or protobuf of the kinds that kubectl sends so).
 * @param duplicates takes the paths of members that stand twice; of them the last counts
 * @throws 400, 413, 415
 */
export async function readObjectBody(request: IncomingMessage, duplicates?: string[]): Promise<KubeObject> {
  const value = await readValueBody(request, duplicates);
  if (!isRecord(value)) throw badRequest('the body of the request is no object');
  return value as KubeObject;
}

export async function readValueBody(request: IncomingMessage, duplicates?: string[]): Promise<unknown> {
  const type = mediaType(request);
  if (type === protobufType) return decodeProtobuf(await readBody(request, bodyBytesMax));
  if (!textTypes.includes(type) && !patchTypes.includes(type)) {
    throw unsupportedMediaType(
      'the body of the request was in an unknown format - accepted media types include: ' +
        `application/json, application/yaml, ${protobufType}`,
    );
  }
  const text = (await readBody(request, bodyBytesMax)).toString('utf8');
  if (text === '') throw badRequest('the request has no body');
  const value = parseText(text, type);
  if (type !== 'application/yaml') duplicates?.push(...duplicateMembers(text));
  return value;
}

/** Delete options, which may be absent. */
export async function readOptionalBody(
  request: IncomingMessage,
): Promise<Record<string, unknown> | undefined> {
  const type = mediaType(request);
  const bytes = await readBody(request, bodyBytesMax);
  if (bytes.length === 0) return undefined;
  if (type === protobufType) return decodeProtobuf(bytes);
  const value = parseText(bytes.toString('utf8'), type);
  if (!isRecord(value)) throw badRequest('the body of the request is no object');
  return value;
}

function parseText(text: string, type: string): unknown {
  let value: unknown;
  if (type === 'application/yaml' && text.length > yamlBytesMax) {
    const message = `a body in YAML is read up to ${yamlBytesMax} bytes: send it as JSON`;
    throw new StatusError(413, 'RequestEntityTooLarge', message);
  }
  try {
    value = type === 'application/yaml' ? parseYaml(text, { maxAliasCount: 100 }) : JSON.parse(text);
  } catch (error) {
    throw badRequest(`the body of the request cannot be read: ${(error as Error).message}`);
  }
  if (depthOf(value, depthMax) > depthMax) {
    throw badRequest(`the body of the request is nested deeper than ${depthMax} levels`);
  }
  return value;
}

function depthOf(value: unknown, left: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (left < 0) return 1;
  let deepest = 0;
  for (const member of Object.values(value)) deepest = Math.max(deepest, depthOf(member, left - 1));
  return deepest + 1;
}
