import { applyPatch, type Operation } from 'rfc6902';
import { isRecord } from '../object.ts';
import { badRequest, StatusError as Failure, type StatusError } from '../status.ts';

/** Most operations of one JSON patch, as the real API server allows. */
export const operationsMax = 10_000;

/**
 * Applies a JSON patch (RFC 6902) to a copy. Either all operations hold or none counts.
 * @throws 400 where the patch is no patch, 422 where an operation fails
 */
export function jsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw badRequest('a JSON patch is a list of operations');
  if (patch.length > operationsMax) {
    const message = `The allowed maximum operations in a JSON patch is ${operationsMax}, got ${patch.length}`;
    throw new Failure(413, 'RequestEntityTooLarge', message);
  }
  for (const operation of patch) {
    if (!isRecord(operation) || typeof operation.op !== 'string' || typeof operation.path !== 'string') {
      throw badRequest('an operation of the JSON patch lacks op or path');
    }
  }
  const copy = structuredClone(target);
  // The library goes on after an operation that failed, so each result is looked at (RFC 6902 section 5).
  const results = applyPatch(copy, patch as Operation[]);
  const at = results.findIndex((result) => result !== null);
  if (at >= 0) throw refused(patch[at] as Operation, String(results[at]?.message));
  return copy;
}

function refused(operation: Operation, why: string): StatusError {
  const message = `the server rejected our request due to an error in our request: ${operation.op} ${operation.path}: ${why}`;
  return new Failure(422, 'Invalid', message, {});
}
