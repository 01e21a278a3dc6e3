import type { CompiledSchema } from './compile.ts';
import type { FieldError } from './field-error.ts';
import type { JsonObject } from './json.ts';

/** Fills in the defaults of a CustomResourceDefinition (singular, listKind, conversion, scope of names), in place. */
export declare function defaultCustomResourceDefinition(crd: JsonObject): void;

/** What is wrong with a CustomResourceDefinition: names, versions, structural schemas, rules that do not compile. */
export declare function validateCustomResourceDefinition(crd: JsonObject, oldCrd?: JsonObject): FieldError[];

/** The compiled schema of one served version. */
export declare function customResourceSchema(crd: JsonObject, version: string): CompiledSchema;
