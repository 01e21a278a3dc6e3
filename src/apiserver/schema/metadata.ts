import type { FieldError } from './field-error.ts';
import type { JsonObject } from './json.ts';

export type NameRule = 'dns1123Subdomain' | 'dns1123Label' | 'dns1035Label' | 'pathSegment';

/** What is wrong with `metadata` of an object that is about to be stored (names, labels, annotations, owners, finalizers). */
export declare function validateMetadata(
  object: JsonObject,
  options: { namespaced: boolean; name?: NameRule },
): FieldError[];

/** What an UPDATE must not change in `metadata`. */
export declare function validateMetadataUpdate(object: JsonObject, oldObject: JsonObject): FieldError[];
