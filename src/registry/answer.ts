import type { ServerResponse } from 'node:http';

/** distribution-spec, "Error Codes"; the status that goes with each here. */
const statuses = {
  BLOB_UNKNOWN: 404,
  BLOB_UPLOAD_INVALID: 400,
  BLOB_UPLOAD_UNKNOWN: 404,
  DIGEST_INVALID: 400,
  MANIFEST_BLOB_UNKNOWN: 400,
  MANIFEST_INVALID: 400,
  MANIFEST_UNKNOWN: 404,
  NAME_INVALID: 400,
  NAME_UNKNOWN: 404,
  PAGINATION_NUMBER_INVALID: 400,
  RANGE_INVALID: 416,
  SIZE_INVALID: 413,
  TOOMANYREQUESTS: 429,
  UNAUTHORIZED: 401,
  UNAVAILABLE: 503,
  UNSUPPORTED: 405,
} as const;

export type RegistryErrorCode = keyof typeof statuses;

/** Ends an answer with an error in the form of the distribution specification. */
export function sendError(
  response: ServerResponse,
  code: RegistryErrorCode,
  message: string,
  options: { detail?: object; headers?: Record<string, string> } = {},
): void {
  const error = { code, message, ...(options.detail === undefined ? {} : { detail: options.detail }) };
  sendJson(response, { errors: [error] }, { status: statuses[code], ...options });
}

/** Ends an answer with a JSON document; a HEAD request gets its length alone. */
export function sendJson(
  response: ServerResponse,
  value: unknown,
  options: { status?: number; type?: string; headers?: Record<string, string> } = {},
): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(options.status ?? 200, {
    'content-type': options.type ?? 'application/json',
    'content-length': String(body.length),
    ...options.headers,
  });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
