import type { ServerResponse } from 'node:http';
import { isSluiceError, messageOf } from '../../errors/error.ts';
import { internal, notAcceptable, StatusError } from '../status.ts';

/** How an answer is wanted (the Accept header), of the forms that are served. */
export type Form = 'json' | 'metadata' | 'table';

export interface Accepted {
  readonly form: Form;
  /** Of aggregated discovery. */
  readonly discovery: 'v2' | 'v2beta1' | undefined;
}

/** The first acceptable form of an Accept header. @throws 406 where JSON is in none of it */
export function negotiate(header: string | undefined): Accepted {
  const ranges = (header ?? '*/*').split(',').map((part) => part.trim());
  for (const range of ranges) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    if (type !== 'application/json' && type !== '*/*' && type !== 'application/*' && type !== '') continue;
    const values = new Map(parameters.map((parameter) => parameter.split('=') as [string, string]));
    const as = values.get('as');
    const group = values.get('g');
    if (as === undefined) return { form: 'json', discovery: undefined };
    if (group === 'apidiscovery.k8s.io' && as === 'APIGroupDiscoveryList') {
      const version = values.get('v');
      if (version === 'v2' || version === 'v2beta1') return { form: 'json', discovery: version };
      continue;
    }
    if (group !== 'meta.k8s.io' || values.get('v') !== 'v1') continue;
    if (as === 'Table') return { form: 'table', discovery: undefined };
    if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') {
      return { form: 'metadata', discovery: undefined };
    }
  }
  throw notAcceptable();
}

/** Longest text of one Warning header; longer ones are cut, as the real server does. */
const warningCharactersMax = 256;
const warningsMax = 32;

export function sendJson(
  response: ServerResponse,
  code: number,
  body: string,
  options: { warnings?: readonly string[]; headers?: Record<string, string> } = {},
): void {
  const headers: Record<string, string | string[]> = {
    'content-type': 'application/json',
    'cache-control': 'no-cache, private',
    ...options.headers,
  };
  const warnings = options.warnings ?? [];
  if (warnings.length > 0) headers.warning = warnings.slice(0, warningsMax).map(warningHeader);
  response.writeHead(code, headers);
  response.end(body);
}

/** RFC 7234 section 5.5, with the code for "miscellaneous persistent warning". */
function warningHeader(text: string): string {
  const shown = text.length > warningCharactersMax ? `${text.slice(0, warningCharactersMax)}…` : text;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: header values hold none
  return `299 - "${shown.replaceAll(/[\u0000-\u001f\u007f-\uffff]/g, ' ').replaceAll(/["\\]/g, '\\$&')}"`;
}

/** What anything that was thrown answers. */
export function statusOf(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  if (isSluiceError(error, 'InputTooLarge')) {
    return new StatusError(413, 'RequestEntityTooLarge', error.message);
  }
  return internal(messageOf(error));
}

export function sendStatus(response: ServerResponse, error: StatusError, warnings?: readonly string[]): void {
  const headers: Record<string, string> = {};
  const retry = error.details?.retryAfterSeconds;
  if (retry !== undefined) headers['retry-after'] = String(retry);
  if (error.code === 401) headers['www-authenticate'] = 'Bearer realm="kubernetes-master"';
  sendJson(response, error.code, JSON.stringify(error.body()), { headers, ...(warnings && { warnings }) });
}
