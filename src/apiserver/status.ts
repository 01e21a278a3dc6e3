/**
 * Answers that are no success: the `Status` object of the API (apimachinery, meta/v1 Status and api/errors),
 * with the words that kubectl and client libraries look for.
 */

export interface StatusCause {
  readonly reason?: string;
  readonly message: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** The plural of the resource, or the kind where the object is invalid. */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export interface StatusBody {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Record<string, never>;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

/** The group and plural by which errors name what they are about. */
export interface ResourceName {
  readonly group: string;
  readonly plural: string;
}

export interface KindName {
  readonly group: string;
  readonly kind: string;
}

/** Thrown anywhere below a request; the server answers its body. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.name = 'StatusError';
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  body(): StatusBody {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      ...(this.reason === '' ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

export function success(details?: StatusDetails): StatusBody {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    ...(details === undefined ? {} : { details }),
  };
}

const qualified = ({ group, plural }: ResourceName) => (group === '' ? plural : `${plural}.${group}`);

const about = ({ group, plural }: ResourceName, name?: string): StatusDetails => ({
  ...(name === undefined || name === '' ? {} : { name }),
  ...(group === '' ? {} : { group }),
  kind: plural,
});

export function notFound(resource: ResourceName, name: string): StatusError {
  const message = `${qualified(resource)} "${name}" not found`;
  return new StatusError(404, 'NotFound', message, about(resource, name));
}

export function pathNotFound(): StatusError {
  return new StatusError(404, 'NotFound', 'the server could not find the requested resource', {});
}

export function alreadyExists(resource: ResourceName, name: string): StatusError {
  const message = `${qualified(resource)} "${name}" already exists`;
  return new StatusError(409, 'AlreadyExists', message, about(resource, name));
}

export const modifiedMessage =
  'the object has been modified; please apply your changes to the latest version and try again';

export function conflict(resource: ResourceName, name: string, why: string = modifiedMessage): StatusError {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`;
  return new StatusError(409, 'Conflict', message, about(resource, name));
}

/** @param causes at least one; `field` and `message` in the words of apimachinery's field errors. */
export function invalid(kind: KindName, name: string, causes: readonly StatusCause[]): StatusError {
  const texts = causes.map((cause) =>
    cause.field === undefined || cause.field === '' ? cause.message : `${cause.field}: ${cause.message}`,
  );
  const shown = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  const what = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  return new StatusError(422, 'Invalid', `${what} "${name}" is invalid: ${shown}`, {
    ...(name === '' ? {} : { name }),
    ...(kind.group === '' ? {} : { group: kind.group }),
    kind: kind.kind,
    causes,
  });
}

export function badRequest(message: string): StatusError {
  return new StatusError(400, 'BadRequest', message);
}

export function unauthorized(): StatusError {
  return new StatusError(401, 'Unauthorized', 'Unauthorized');
}

export function forbidden(resource: ResourceName, name: string, why: string): StatusError {
  const named = name === '' ? qualified(resource) : `${qualified(resource)} "${name}"`;
  return new StatusError(403, 'Forbidden', `${named} is forbidden: ${why}`, about(resource, name));
}

export function methodNotAllowed(): StatusError {
  const message = 'the server does not allow this method on the requested resource';
  return new StatusError(405, 'MethodNotAllowed', message, {});
}

export function notAcceptable(): StatusError {
  const message = 'only the following media types are accepted: application/json';
  return new StatusError(406, 'NotAcceptable', message);
}

export function unsupportedMediaType(message: string): StatusError {
  return new StatusError(415, 'UnsupportedMediaType', message);
}

export function expired(message: string): StatusError {
  return new StatusError(410, 'Expired', message);
}

export function unavailable(message: string): StatusError {
  return new StatusError(503, 'ServiceUnavailable', message);
}

export function internal(message: string): StatusError {
  return new StatusError(500, 'InternalError', `Internal error occurred: ${message}`);
}
