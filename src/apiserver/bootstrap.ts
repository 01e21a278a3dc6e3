import { bootstrapRoles } from './bootstrap-roles.ts';
import { serverContext } from './definitions.ts';
import { equalJson, type KubeObject } from './object.ts';
import type { Engine } from './rest/engine.ts';
import { readObject } from './rest/read.ts';
import { createObject, updateObject } from './rest/write.ts';

/** Namespaces that every cluster has. */
export const systemNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'] as const;

/** The priorities that operators of a cluster give their Pods (kubernetes, pkg/apis/scheduling). */
const systemPriorities: readonly KubeObject[] = [
  { name: 'system-cluster-critical', value: 2_000_000_000, of: 'cluster' },
  { name: 'system-node-critical', value: 2_000_001_000, of: 'node' },
].map(({ name, value, of }) => ({
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  metadata: { name },
  value,
  description: `Used for system critical pods that must run in the cluster${of === 'node' ? ', and must not be moved from their current node' : ', but can be moved to another node if necessary'}.`,
}));

/** Makes sure that the system's namespaces, roles and priorities, these definitions and these objects are there. */
export async function ensureBootstrap(
  engine: Engine,
  crds: readonly KubeObject[],
  objects: readonly KubeObject[],
): Promise<void> {
  const namespaces = systemNamespaces.map((name) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  }));
  for (const namespace of namespaces) await ensureCreated(engine, namespace);
  for (const role of bootstrapRoles) await ensureCreated(engine, role);
  for (const one of systemPriorities) await ensureCreated(engine, one);
  for (const crd of crds) await ensureSpec(engine, crd);
  for (const object of objects) await ensureCreated(engine, object);
}

async function ensureCreated(engine: Engine, object: KubeObject): Promise<void> {
  const served = engine.resources.findKind(object.apiVersion, object.kind);
  if (served === undefined) throw new Error(`${object.apiVersion} ${object.kind} is not served`);
  const namespace = object.metadata.namespace ?? '';
  if (readObject(engine, served, namespace, object.metadata.name) !== undefined) return;
  await createObject(engine, served, namespace, structuredClone(object), serverContext());
}

/** Creates a definition, or brings the one that an older version left up to date. */
async function ensureSpec(engine: Engine, crd: KubeObject): Promise<void> {
  const served = engine.resources.builtIn('apiextensions.k8s.io/v1', 'customresourcedefinitions');
  const { name } = crd.metadata;
  const standing = readObject(engine, served, '', name);
  if (standing === undefined) {
    await createObject(engine, served, '', structuredClone(crd), serverContext());
    return;
  }
  if (equalJson(standing.spec, crd.spec)) return;
  const change = (current: KubeObject) => ({ ...current, spec: structuredClone(crd.spec) });
  await updateObject(engine, served, '', name, '', change, serverContext());
}
