import type { FieldError } from './field-error.ts';
import type { JsonObject } from './json.ts';

/** A schema made ready: what an object of one kind and version may hold. All methods are pure but for their argument. */
export interface CompiledSchema {
  /** Drops what the schema does not name, in place; returns the paths of what was dropped. */
  prune(object: JsonObject): string[];
  /** Fills in the schema's defaults, in place. */
  default(object: JsonObject): void;
  /** What is wrong with the object; with `oldObject` transition rules apply (an UPDATE). Metadata is not judged here. */
  validate(object: JsonObject, oldObject?: JsonObject): FieldError[];
  /** Paths of fields that the schema does not name (fieldValidation Warn and Strict); the object stays as it is. */
  unknownFields(object: JsonObject): string[];
}

export interface CompileOptions {
  /** Looks up what `#/components/schemas/<name>` names; built-in kinds only (CRDs have no references). */
  readonly resolve?: (name: string) => JsonObject | undefined;
}

/** @throws SluiceError InputInvalid where the schema is no structural schema or a rule does not compile. */
export declare function compileSchema(openAPIV3Schema: JsonObject, options?: CompileOptions): CompiledSchema;
