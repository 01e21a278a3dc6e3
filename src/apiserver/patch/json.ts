import { applyPatch, type Operation, Pointer } from 'rfc6902';
import { isRecord } from '../object.ts';
import { badRequest, StatusError as Failure, type StatusError } from '../status.ts';

/** Most operations of one JSON patch, as the real API server allows. */
export const operationsMax = 10_000;

/**
 * Most characters of JSON that the copy operations of one patch add together, as the real API server allows: a few
 * dozen copies of an object into itself would otherwise fill any memory.
 */
const copiedCharactersMax = 3 * 1024 * 1024;

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
    if (!isRecord(operation) || typeof operation.op !== 'string' || !isPointer(operation.path)) {
      throw badRequest('an operation of the JSON patch lacks op or path');
    }
    if ((operation.op === 'copy' || operation.op === 'move') && !isPointer(operation.from)) {
      throw badRequest(`a ${operation.op} of the JSON patch lacks from`);
    }
  }
  const copy = structuredClone(target);
  let copied = 0;
  for (const operation of patch as Operation[]) {
    if (!hasParent(copy, operation.path)) throw refused(operation, 'the path does not exist');
    if (operation.op === 'copy' || operation.op === 'move') {
      if (!hasParent(copy, operation.from)) throw refused(operation, `${operation.from} does not exist`);
    }
    if (operation.op === 'copy') {
      copied += JSON.stringify(Pointer.fromJSON(operation.from).get(copy))?.length ?? 0;
      if (copied > copiedCharactersMax) {
        throw refused(operation, `the patch copies more than ${copiedCharactersMax} characters`);
      }
    }
    const [failure] = applyPatch(copy, [operation]);
    if (failure) throw refused(operation, failure.message);
  }
  return copy;
}

/** RFC 6901 section 3. */
function isPointer(value: unknown): value is string {
  return typeof value === 'string' && (value === '' || value.startsWith('/'));
}

/** Members that the library steps over on its way. */
const stepsOver = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Whether what a pointer stands in is there, by members of its own: the library also walks what every object
 * inherits, and a patch of `/hasOwnProperty/call` would change it for the whole process.
 */
function hasParent(document: unknown, pointer: string): boolean {
  const tokens = Pointer.fromJSON(pointer).tokens.slice(1);
  let at = document;
  for (const token of tokens.slice(0, -1)) {
    if (stepsOver.has(token)) return false; // It would change another member than the one that is meant.
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, token)) return false;
    at = (at as Record<string, unknown>)[token];
  }
  const last = tokens.at(-1);
  return last === undefined || (typeof at === 'object' && at !== null && last !== '__proto__');
}

function refused(operation: Operation, why: string): StatusError {
  const message = `the server rejected our request due to an error in our request: ${operation.op} ${operation.path}: ${why}`;
  return new Failure(422, 'Invalid', message, {});
}
