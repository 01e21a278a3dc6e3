import type { KubeObject } from './object.ts';
import { type Admission, createAdmission } from './policy/admission.ts';
import type { Authorizer } from './policy/rbac.ts';
import type { Engine } from './rest/engine.ts';
import { readObject, readObjects } from './rest/read.ts';
import type { JsonObject } from './schema/json.ts';

const admissionGroup = 'admissionregistration.k8s.io/v1';

/** Judges writes by the policies in the store; they are read again after each change of one. */
export function createPolicies(engine: Engine, authorizer: Authorizer): Admission {
  const policies = cached(engine, 'validatingadmissionpolicies');
  const bindings = cached(engine, 'validatingadmissionpolicybindings');
  return createAdmission({
    policies,
    bindings,
    namespace: (name) => {
      const found = readObject(engine, engine.resources.builtIn('v1', 'namespaces'), '', name);
      return found && json(found);
    },
    params: (apiVersion, kind, namespace) => {
      const served = engine.resources.findKind(apiVersion, kind);
      return served && readObjects(engine, served, namespace).map(json);
    },
    paramsNamespaced: (apiVersion, kind) => engine.resources.findKind(apiVersion, kind)?.namespaced,
    authorize: (user, attributes) => authorizer.authorize(user, attributes),
  });
}

/** All objects of a kind, kept until one of them changes. */
function cached(engine: Engine, plural: string): () => readonly JsonObject[] {
  const served = engine.resources.builtIn(admissionGroup, plural);
  let objects: readonly JsonObject[] | undefined;
  engine.store.onCommit((changes) => {
    if (changes.some(({ key }) => key.startsWith(`${served.storage}/`))) objects = undefined;
  });
  return () => {
    objects ??= readObjects(engine, served, '').map(json);
    return objects;
  };
}

/** The same object, in the terms of the policy part of the room. */
function json(object: KubeObject): JsonObject {
  return object as unknown as JsonObject;
}
