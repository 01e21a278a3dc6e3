import type { Clock } from '../../observe/clock.ts';
import type { Logger } from '../../observe/log.ts';
import type { KubeObject } from '../object.ts';
import type { AdmissionVerdict } from '../policy/admission.ts';
import type { UserInfo } from '../policy/rbac.ts';
import type { AdmissionRequest } from '../policy/request.ts';
import type { Resources } from '../resources.ts';
import type { CompiledSchema } from '../schema/compile.ts';
import type { FieldError } from '../schema/field-error.ts';
import { keyOf, type Served } from '../served.ts';
import type { Revision, RevisionStore } from '../store/revisions.ts';
import type { WatchHub } from '../store/watch-hub.ts';

/** What judges and completes an object before it is stored. */
export interface Gatekeeper {
  schema(served: Served): CompiledSchema | undefined;
  /** Defaults beyond the schema's, in place. */
  complete(served: Served, object: KubeObject): void;
  /** What is wrong with an object that is about to be stored; `found` is what its schema has already said. */
  problems(
    served: Served,
    object: KubeObject,
    old: KubeObject | undefined,
    found: readonly FieldError[] | undefined,
  ): FieldError[];
  review(request: AdmissionRequest): AdmissionVerdict;
}

/** Everything that an operation on the API works with. */
export interface Engine {
  readonly store: RevisionStore;
  readonly watches: WatchHub;
  readonly resources: Resources;
  readonly gatekeeper: Gatekeeper;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type FieldValidation = 'Ignore' | 'Strict' | 'Warn';

/** Who writes and how. */
export interface WriteContext {
  readonly user: UserInfo;
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
  /** Texts for `Warning` headers, added to as they come up. */
  readonly warnings: string[];
  /** Paths of members that stood twice in the body; filled in when it is read. */
  readonly duplicates?: string[];
  /** Whether the object is what a patch made of the one that stands; what cannot be read is told of the patch then. */
  readonly isPatch?: boolean;
  /** How admission sees the object, where a subresource has a kind of its own. */
  readonly view?: AdmissionView;
}

/** An object as another kind, a Scale say. */
export interface AdmissionView {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  of(object: KubeObject): KubeObject;
}

/** An object as it stands after a write, as text ready to be sent. */
export interface WriteResult {
  readonly json: string;
  readonly created?: boolean;
}

/** A stored version, parsed. */
export interface Current {
  readonly revision: Revision;
  readonly object: KubeObject;
}

/** The object that a write is about, with writes of this turn that are not yet on the disk. */
export function currentForWrite(
  engine: Engine,
  served: Served,
  namespace: string,
  name: string,
): Current | undefined {
  const revision = engine.store.getForWrite(keyOf(served, namespace, name));
  return revision && { revision, object: parseStored(served, revision.value) };
}

/** The object of a stored text, at the version that is served. */
export function parseStored(served: Served, json: string): KubeObject {
  const object = JSON.parse(json) as KubeObject;
  // Conversion strategy None: versions of a custom kind differ in apiVersion alone.
  if (object.apiVersion !== served.apiVersion) object.apiVersion = served.apiVersion;
  return object;
}

/** The stored text of an object as it is served: the very text, unless another version was stored. */
export function servedJson(served: Served, json: string): string {
  if (served.custom === undefined || served.custom.storageVersion === served.version) return json;
  return JSON.stringify(parseStored(served, json));
}
