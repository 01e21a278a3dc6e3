import type { CompiledSchema } from './compile.ts';
import type { FieldError } from './field-error.ts';
import type { JsonObject } from './json.ts';

/** The compiled schema of a built-in kind, undefined where it is not in the closed scope. Group '' is core. */
export declare function builtinSchema(
  group: string,
  version: string,
  kind: string,
): CompiledSchema | undefined;

/** Kubernetes' own defaults of a built-in kind, in place; called after the schema's. Other kinds stay as they are. */
export declare function defaultBuiltin(group: string, kind: string, object: JsonObject): void;

/** Kubernetes' own validation of a built-in kind beyond its schema; with `oldObject` also what must not change. */
export declare function validateBuiltin(
  group: string,
  kind: string,
  object: JsonObject,
  oldObject?: JsonObject,
): FieldError[];
