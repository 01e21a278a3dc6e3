import { isRecord, type KubeObject } from '../object.ts';
import type { Served } from '../served.ts';
import { badRequest, unsupportedMediaType } from '../status.ts';
import { jsonPatch } from './json.ts';
import { mergePatch } from './merge.ts';
import { strategicMergePatch } from './strategic.ts';

export type PatchType = 'json' | 'merge' | 'strategic';

/** Which kind of patch a body is. @throws 415 where it is none that this kind takes */
export function patchTypeOf(served: Served, mediaType: string): PatchType {
  switch (mediaType) {
    case 'application/json-patch+json':
      return 'json';
    case 'application/merge-patch+json':
      return 'merge';
    case 'application/strategic-merge-patch+json':
      if (served.custom === undefined) return 'strategic';
      break;
    case 'application/apply-patch+yaml':
    case 'application/apply-patch+cbor':
      throw unsupportedMediaType(
        'server-side apply is not served by the embedded API: use kubectl apply without --server-side',
      );
  }
  const strategic = served.custom === undefined ? ', application/strategic-merge-patch+json' : '';
  throw unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ` +
      `application/json-patch+json, application/merge-patch+json${strategic}`,
  );
}

/** Applies a patch to an object. Returns a new object. @throws 400, 422 */
export function applyPatchBody(
  served: Served,
  type: PatchType,
  current: KubeObject,
  patch: unknown,
): KubeObject {
  const result = patched(served, type, current, patch);
  if (!isRecord(result)) throw badRequest('the patch leaves no object');
  return result as KubeObject;
}

function patched(served: Served, type: PatchType, current: KubeObject, patch: unknown): unknown {
  if (type === 'json') return jsonPatch(current, patch);
  if (!isRecord(patch)) throw badRequest('the patch is no object');
  if (type === 'merge') return mergePatch(current, patch);
  return strategicMergePatch(served, current, patch);
}
