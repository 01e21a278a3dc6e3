import type { KubeObject } from './object.ts';
import type { Admission } from './policy/admission.ts';
import type { Gatekeeper } from './rest/engine.ts';
import { replicasAt } from './rest/scale.ts';
import { builtinSchema, defaultBuiltin, nameRuleOf, validateBuiltin } from './schema/builtin.ts';
import { customResourceSchema } from './schema/custom-resource.ts';
import { type FieldError, invalid } from './schema/field-error.ts';
import type { JsonObject } from './schema/json.ts';
import { validateMetadata, validateMetadataUpdate } from './schema/metadata.ts';
import type { ScalePaths, Served } from './served.ts';

/** Judges objects by their schemas, by Kubernetes' own rules for built-in kinds, and by admission policies. */
export function createGatekeeper(admission: () => Admission | undefined): Gatekeeper {
  return {
    schema: schemaOf,
    complete(served, object) {
      if (served.custom === undefined) defaultBuiltin(served.group, served.kind, json(object));
    },
    problems,
    review: (request) => admission()?.review(request) ?? { warnings: [], audit: {} },
  };
}

function schemaOf(served: Served) {
  if (served.custom === undefined) return builtinSchema(served.group, served.version, served.kind);
  return customResourceSchema(served.custom.crd as unknown as JsonObject, served.version);
}

function problems(
  served: Served,
  object: KubeObject,
  old: KubeObject | undefined,
  found: readonly FieldError[] | undefined,
): FieldError[] {
  const name = served.custom === undefined ? nameRuleOf(served.group, served.kind) : undefined;
  const errors = validateMetadata(json(object), {
    namespaced: served.namespaced,
    ...(name === undefined ? {} : { name }),
  });
  if (old !== undefined) errors.push(...validateMetadataUpdate(json(object), json(old)));
  const before = old === undefined ? undefined : json(old);
  const schemaErrors = found ?? schemaOf(served)?.validate(json(object), before) ?? [];
  if (served.custom !== undefined) errors.push(...schemaErrors);
  else errors.push(...validateBuiltin(served.group, served.kind, json(object), schemaErrors, before));
  if (served.custom?.scale !== undefined) errors.push(...scaleProblems(served.custom.scale, object));
  return errors;
}

/** Replicas that can be scaled are not negative (apiextensions-apiserver, ValidateScaleSpec and ValidateScaleStatus). */
function scaleProblems(
  { specReplicasPath, statusReplicasPath }: ScalePaths,
  object: KubeObject,
): FieldError[] {
  return [specReplicasPath, statusReplicasPath].flatMap((path) => {
    const replicas = replicasAt(object, path);
    return replicas === undefined || replicas >= 0
      ? []
      : [invalid(path, replicas, 'should be a non-negative integer')];
  });
}

/** The same object, in the terms of the schema part of the room. */
function json(object: KubeObject): JsonObject {
  return object as unknown as JsonObject;
}
