import { applyDefaults, dropForbiddenNulls } from './defaults.ts';
import { embeddedErrors, hasEmbedded } from './embedded.ts';
import { type FieldError, type FieldErrorType, invalid } from './field-error.ts';
import type { JsonObject } from './json.ts';
import { compileNodes, type SchemaNode } from './node.ts';
import { listUnknown, pruneUnknown } from './prune.ts';
import { compileRules } from './rules.ts';
import { validateValues } from './values.ts';

/** A schema made ready: what an object of one kind and version may hold. All methods are pure but for their argument. */
export interface CompiledSchema {
  readonly root: SchemaNode;
  /** What is wrong with the schema itself: patterns and rules that do not compile, with their place in it. */
  readonly problems: readonly FieldError[];
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

/** Errors after which rules are not evaluated: they could not rely on what they read. */
const blocking = new Set<FieldErrorType>([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

const unchecked =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

/** The field of an error that is about the object as a whole: how Go prints a path that is none. */
const wholeObject = '<nil>';

/** Makes a schema ready; never throws, see `problems`. */
export function compileSchema(openAPIV3Schema: JsonObject, options: CompileOptions = {}): CompiledSchema {
  const { root, problems } = compileNodes(openAPIV3Schema, options.resolve);
  const rules = compileRules(root);
  const embeds = hasEmbedded(root);
  return {
    root,
    problems: [...problems, ...rules.problems],
    prune: (object) => pruneUnknown(object, root),
    default: (object) => {
      applyDefaults(object, root);
      dropForbiddenNulls(object, root);
    },
    unknownFields: (object) => listUnknown(object, root),
    validate: (object, oldObject) => {
      const errors = validateValues(object, root, oldObject);
      if (embeds) errors.push(...embeddedErrors(object, root));
      const isBlocked = errors.some((error) => blocking.has(error.type));
      if (!isBlocked) errors.push(...rules.validate(object, oldObject));
      else if (!rules.isEmpty) errors.push(invalid('', null, unchecked));
      return errors.map((error) => (error.field === '' ? { ...error, field: wholeObject } : error));
    },
  };
}
