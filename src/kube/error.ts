import type { Status } from '../api/core.ts';
import { type ErrorCode, SluiceError } from '../errors/error.ts';

/** One thing that an `Invalid` answer names: which field, and why. */
export interface ApiErrorCause {
  readonly field: string;
  readonly reason: string;
  readonly message: string;
}

/** An answer of the cluster API that is no success (API conventions, "Response Status Kind"). */
export class ApiError extends SluiceError {
  /** HTTP status; for an ERROR event of a watch, the code of its Status. */
  readonly status: number;
  /** The word for programs: NotFound, AlreadyExists, Conflict, Invalid, Expired, TooManyRequests, … */
  readonly reason: string;
  readonly causes: readonly ApiErrorCause[];
  /** Seconds that the server asks to wait, where it does. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, reason: string, message: string, details: Status['details'] = {}) {
    super(codeOf(status), message);
    this.name = 'ApiError';
    this.status = status;
    this.reason = reason;
    this.causes = (details.causes ?? []).map((cause) => ({
      field: cause.field ?? '',
      reason: cause.reason ?? '',
      message: cause.message ?? '',
    }));
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

function codeOf(status: number): ErrorCode {
  switch (status) {
    case 400:
    case 415:
    case 422:
      return 'InputInvalid';
    case 401:
      return 'Unauthorized';
    case 403:
      return 'Forbidden';
    case 404:
      return 'NotFound';
    case 409:
    case 410:
      return 'Conflict';
    case 413:
      return 'InputTooLarge';
    case 504:
      return 'Timeout';
    case 429:
    case 502:
    case 503:
      return 'Unreachable';
    default:
      return 'ClusterApi';
  }
}

const reasonByStatus: Record<number, string> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** The error of an answer whose body may be a Status, or text of a proxy, or nothing. */
export function apiErrorOf(status: number, body: string, what: string, retryAfter?: string): ApiError {
  const parsed = parseStatus(body);
  const reason = parsed?.reason ?? reasonByStatus[status] ?? 'Unknown';
  const text = parsed?.message ?? body.trim().slice(0, 500);
  const message = text === '' ? `${what}: the cluster API answered ${status}` : `${what}: ${text}`;
  const seconds = Number(retryAfter);
  const details = parsed?.details ?? {};
  if (details.retryAfterSeconds === undefined && retryAfter !== undefined && Number.isFinite(seconds)) {
    return new ApiError(status, reason, message, { ...details, retryAfterSeconds: seconds });
  }
  return new ApiError(status, reason, message, details);
}

/** The error of an ERROR event in a watch. */
export function apiErrorOfStatus(status: Status, what: string): ApiError {
  const code = status.code ?? 500;
  const reason = status.reason ?? reasonByStatus[code] ?? 'Unknown';
  return new ApiError(code, reason, `${what}: ${status.message ?? reason}`, status.details);
}

function parseStatus(body: string): Status | undefined {
  if (!body.startsWith('{')) return undefined;
  try {
    const value = JSON.parse(body) as Status;
    return value.kind === 'Status' ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** Somebody else has written the object meanwhile: read it again and decide anew. */
export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409 && error.reason !== 'AlreadyExists';
}

export function isAlreadyExists(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409 && error.reason === 'AlreadyExists';
}

/** The version that a watch or a continued list starts from is no longer kept: list again. */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 410 || error.reason === 'Expired');
}

export function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}

export function isInvalid(error: unknown): boolean {
  return error instanceof ApiError && error.status === 422;
}
