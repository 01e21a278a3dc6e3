import type { AnyObject, CustomResourceDefinition, KubeObject, Schema } from '../api/core.ts';
import { type KindRef, ownKinds, type Platform, resourceName, sluiceGroup } from '../api/kinds.ts';
import { labels, names, partOf } from '../api/names.ts';
import { messageOf } from '../errors/error.ts';
import { type KubeClient, pathOf } from '../kube/client.ts';
import { ApiError } from '../kube/error.ts';
import { mergeManifest, sameValue } from '../kube/merge.ts';

/** How an object that is shipped stands in a cluster. */
export interface ObjectState {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly state: 'unchanged' | 'differs' | 'missing';
}

export interface KindState {
  readonly kind: string;
  /** `plural.group`. */
  readonly resource: string;
  readonly version: string;
  readonly served: boolean;
  /** Whose definition it is: of it we only use what the platform serves. */
  readonly owner: 'sluice' | 'platform';
}

/** Something that the cluster has or lacks, and what follows from it. */
export interface Remark {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
}

export interface Survey {
  readonly platform: Platform;
  readonly server: string;
  readonly serverVersion: string;
  readonly kinds: readonly KindState[];
  readonly remarks: readonly Remark[];
  readonly objects: readonly ObjectState[];
}

/** What the API serves and lacks, and how what is shipped for it stands. Changes nothing. Errors: the client's. */
export async function surveyCluster(client: KubeClient, shipped: readonly AnyObject[]): Promise<Survey> {
  const { gitVersion } = (await client.raw({ path: '/version' })) as { gitVersion: string };
  const definitions = new Map<string, CustomResourceDefinition>();
  const kinds: KindState[] = [];
  for (const name of ownKinds) {
    const kind: KindRef = client.kinds[name];
    const definition = await client.tryGet(client.kinds.CustomResourceDefinition, resourceName(kind));
    if (definition !== undefined) definitions.set(name, definition);
    const shippedHere = shipped.some(({ metadata }) => metadata.name === resourceName(kind));
    kinds.push({
      kind: name,
      resource: resourceName(kind),
      version: kind.version,
      served: await client.serves(kind),
      owner: shippedHere || definition?.metadata.labels?.[labels.partOf] === partOf ? 'sluice' : 'platform',
    });
  }
  const objects: ObjectState[] = [];
  for (const object of shipped) objects.push(await objectState(client, object));
  return {
    platform: client.platform,
    server: client.server,
    serverVersion: gitVersion,
    kinds,
    remarks: await remarksOn(client, gitVersion, definitions),
    objects,
  };
}

async function objectState(client: KubeClient, object: AnyObject): Promise<ObjectState> {
  const { name, namespace } = object.metadata;
  const said = { kind: object.kind, ...(namespace === undefined ? {} : { namespace }), name };
  const kind = await client.resolveKind(object.apiVersion, object.kind);
  if (kind === undefined) return { ...said, state: 'missing' };
  const standing = await client.tryGet(kind, name, namespace);
  if (standing === undefined) return { ...said, state: 'missing' };
  return { ...said, state: (await isUnchanged(client, kind, standing, object)) ? 'unchanged' : 'differs' };
}

/** Asks the server, since it defaults what a manifest leaves out. */
async function isUnchanged(
  client: KubeClient,
  kind: KindRef,
  standing: KubeObject,
  object: AnyObject,
): Promise<boolean> {
  const { status: _, ...wanted } = object;
  const merged = mergeManifest(standing, wanted) as KubeObject;
  if (sameValue(merged, standing)) return true;
  const answer = (await client.raw({
    method: 'PUT',
    path: pathOf(kind, standing.metadata.namespace, standing.metadata.name),
    query: { dryRun: 'All' },
    body: merged,
  })) as KubeObject;
  return sameValue(content(answer), content(standing));
}

/** Without what a server writes down about a write. */
function content({ metadata, ...rest }: KubeObject): unknown {
  const {
    managedFields: _,
    generation: __,
    resourceVersion: ___,
    ...kept
  } = metadata as unknown as Record<string, unknown>;
  return { ...rest, metadata: kept };
}

/** Policies with parameters (v1), and the node's name in the tokens of its Pods. */
const minorMin = 30;

async function remarksOn(
  client: KubeClient,
  gitVersion: string,
  definitions: ReadonlyMap<string, CustomResourceDefinition>,
): Promise<Remark[]> {
  const remarks: Remark[] = [];
  const minor = Number(/^v?1\.(\d+)/.exec(gitVersion)?.[1] ?? 0);
  remarks.push({
    name: 'KubernetesVersion',
    ok: minor >= minorMin,
    message:
      minor >= minorMin
        ? `Kubernetes 1.${minor} has what is needed`
        : `Kubernetes 1.${minor} is older than 1.${minorMin}: nodes cannot be told apart by their tokens`,
  });
  if (client.platform !== 'openshift') return remarks;
  const version = definitions.get('ClusterVersion');
  const mode = fieldOf(version, client.kinds.ClusterVersion.version, ['spec', 'desiredUpdate', 'mode']);
  remarks.push({
    name: 'PreflightMode',
    ok: true,
    message:
      mode === undefined
        ? 'spec.desiredUpdate has no field mode here (default feature set): a preflight is an UpdatePreflight, never a desiredUpdate'
        : 'spec.desiredUpdate has the field mode; Sluice never sets it, since the cluster-version operator may not know it',
  });
  remarks.push(await gateRemark(client));
  const isOwn = client.kinds.InternalReleaseImage.group === sluiceGroup;
  remarks.push({
    name: 'ReleaseContent',
    ok: true,
    message: isOwn
      ? `the machine-config operator serves InternalReleaseImage itself; ours is in ${sluiceGroup}`
      : 'the machine-config operator does not serve InternalReleaseImage; Sluice defines it',
  });
  return remarks;
}

/** Whether the update gate acts, tried with a release that nobody has, and without writing anything. */
async function gateRemark(client: KubeClient): Promise<Remark> {
  const name = 'UpdateGate';
  const { ClusterVersion: kind, ValidatingAdmissionPolicyBinding } = client.kinds;
  const { clusterVersion, updateGate } = names(client.platform);
  if ((await client.tryGet(ValidatingAdmissionPolicyBinding, updateGate)) === undefined)
    return { name, ok: true, message: 'the update gate is not installed yet' };
  try {
    await client.raw({
      method: 'PATCH',
      path: pathOf(kind, undefined, clusterVersion),
      query: { dryRun: 'All' },
      contentType: 'application/merge-patch+json',
      body: { spec: { desiredUpdate: { image: `sluice.dev/probe@sha256:${'0'.repeat(64)}`, force: null } } },
    });
  } catch (error) {
    if (error instanceof ApiError && error.message.includes(`'${updateGate}'`))
      return { name, ok: true, message: 'the update gate refuses a release whose preflight has not passed' };
    return { name, ok: false, message: `whether the update gate acts cannot be told: ${messageOf(error)}` };
  }
  return {
    name,
    ok: false,
    message: `the update gate lets everything through: see that the PolicyFacts ${updateGate} stands (sluice cluster install makes it)`,
  };
}

/** The schema of a field as the definition serves it; undefined where it has none. */
export function fieldOf(
  definition: CustomResourceDefinition | undefined,
  version: string,
  path: readonly string[],
): Schema | undefined {
  let schema = definition?.spec.versions.find(({ name }) => name === version)?.schema?.openAPIV3Schema;
  for (const name of path) schema = schema?.properties?.[name];
  return schema;
}
