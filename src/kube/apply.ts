import type { Draft, KubeObject } from '../api/core.ts';
import { apiVersionOf, type KindRef } from '../api/kinds.ts';
import { SluiceError } from '../errors/error.ts';
import type { KubeClient } from './client.ts';
import { isAlreadyExists, isConflict } from './error.ts';
import { mergeManifest, sameValue } from './merge.ts';

export type ApplyOutcome = 'created' | 'changed' | 'unchanged';

export interface ApplyOptions {
  readonly signal?: AbortSignal;
  /** An object that stands is left as it is (annotation release.openshift.io/create-only). */
  readonly createOnly?: boolean;
  /** For the error where the kind is not served. */
  readonly source?: string;
}

/** Conflicts in a row after which somebody else fights for the object. */
const conflictsMax = 5;

/**
 * Makes an object stand as its manifest states: creates it, or merges what the manifest states into what stands
 * (`mergeManifest`), writing only where that changes something. `status` and what the server sets are never
 * taken from a manifest. Errors: NotFound where no API serves the kind (yet), else those of the client.
 */
export async function applyObject<T extends KubeObject>(
  client: KubeClient,
  manifest: T,
  options: ApplyOptions = {},
): Promise<{ outcome: ApplyOutcome; object: T }> {
  const { apiVersion, kind: kindName } = manifest;
  const { name, namespace } = manifest.metadata;
  // A manifest may come from a file: what its type promises is not known to be there.
  if (apiVersion === undefined || kindName === undefined || name === undefined) {
    throw new SluiceError('InputInvalid', 'a manifest needs apiVersion, kind and metadata.name');
  }
  const kind = (await client.resolveKind(apiVersion, kindName)) as KindRef<T> | undefined;
  if (kind === undefined) {
    const from = options.source === undefined ? '' : ` (${options.source})`;
    throw new SluiceError('NotFound', `no API serves ${kindName} of ${apiVersion}, as ${name} needs${from}`, {
      next: 'Its CustomResourceDefinition must be there first.',
    });
  }
  if (kind.namespaced && namespace === undefined) {
    throw new SluiceError('InputInvalid', `the ${kindName} ${name} needs metadata.namespace`);
  }
  const call = options.signal === undefined ? {} : { signal: options.signal };
  const wanted = stated(manifest, kind);
  for (let conflicts = 0; ; conflicts += 1) {
    const standing = await client.tryGet(kind, name, namespace, call);
    try {
      if (standing === undefined) {
        return { outcome: 'created', object: await client.create(kind, wanted as Draft<T>, call) };
      }
      const merged = mergeManifest(standing, wanted) as T;
      if (options.createOnly === true || sameValue(merged, standing)) {
        return { outcome: 'unchanged', object: standing };
      }
      const object = await client.update(kind, merged, call);
      // The server may set back or default what was written: then nothing has changed after all.
      const changed = object.metadata.resourceVersion !== standing.metadata.resourceVersion;
      return { outcome: changed ? 'changed' : 'unchanged', object };
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error)) throw error;
      if (conflicts >= conflictsMax) throw error;
    }
  }
}

/** What of a manifest is ours to state. */
function stated(manifest: KubeObject, kind: KindRef): Record<string, unknown> {
  const { status: _, ...rest } = manifest as unknown as Record<string, unknown>;
  const {
    uid: __,
    resourceVersion: ___,
    generation: ____,
    creationTimestamp: _____,
    managedFields: ______,
    deletionTimestamp: _______,
    ...metadata
  } = manifest.metadata as unknown as Record<string, unknown>;
  if (!kind.namespaced) delete metadata.namespace;
  const { stringData, ...plain } = rest;
  if (kind.group !== '' || kind.kind !== 'Secret' || stringData === undefined) {
    return { ...rest, apiVersion: apiVersionOf(kind), kind: kind.kind, metadata };
  }
  // The server never returns stringData: stated as data, the same Secret twice is no change.
  const data = Object.fromEntries(
    Object.entries(stringData as Record<string, string>).map(([key, text]) => [
      key,
      Buffer.from(text).toString('base64'),
    ]),
  );
  const merged = { ...((plain.data as object | undefined) ?? {}), ...data };
  return { ...plain, data: merged, apiVersion: apiVersionOf(kind), kind: kind.kind, metadata };
}
