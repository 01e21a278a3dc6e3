import type { AnyObject, KubeObject } from '../api/core.ts';
import { type KindRef, resourceName } from '../api/kinds.ts';
import { annotations, finalizers, labels, names, partOf } from '../api/names.ts';
import { type KubeClient, pathOf } from '../kube/client.ts';
import { ApiError, isNotFound } from '../kube/error.ts';
import { waitForDeletion } from '../kube/wait.ts';
import { uncordon } from '../lock/drain.ts';
import { systemClock } from '../observe/clock.ts';
import { signatureStep, takeOut } from '../release/signature-objects.ts';

export interface UninstallOptions {
  /** Keeps the definitions with their objects, and the ConfigMaps and Secrets: a later installation goes on with them. */
  readonly keepData: boolean;
  readonly dryRun: boolean;
  /** Told of each step before it is taken. */
  readonly onStep?: (step: UninstallStep) => void;
  /** Told of what is waited for until the API server has let go of it. */
  readonly onWait?: (what: string) => void;
  readonly signal?: AbortSignal;
}

export interface UninstallStep {
  readonly act: 'delete' | 'release' | 'uncordon' | 'unpause';
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** Judged at every write of theirs: they go first, so that nothing of ours can refuse what follows. */
const policies = ['ValidatingAdmissionPolicyBinding', 'ValidatingAdmissionPolicy'];
/**
 * What acts: it goes before what it would make again, and before the finalizers that it would set again. A Pod outlives
 * its Deployment for as long as its kubelet lets it (on a host that is cut off, for ever), so that the rights go next:
 * from then on nobody of ours writes.
 */
const workloads = ['DaemonSet', 'Deployment'];
const data = ['PolicyFacts', 'ConfigMap', 'Secret', 'Namespace', 'CustomResourceDefinition'];
/** An API server lets go of definitions one after another, some ten seconds each. */
const goneMs = 5 * 60_000;
const policyMs = 20_000;
const policyPollMs = 250;

/**
 * Takes away what is shipped, in an order in which nothing can hold up the cluster at any point: policies; what acts;
 * its rights; cordons and pauses of ours; finalizers of ours; what a preflight run left; then everything else,
 * definitions and namespaces last. Run again, it goes on where it stopped. Returns the steps.
 */
export async function uninstallObjects(
  client: KubeClient,
  shipped: readonly AnyObject[],
  options: UninstallOptions,
): Promise<UninstallStep[]> {
  const steps: UninstallStep[] = [];
  const step = async (what: UninstallStep, take: () => Promise<unknown>) => {
    steps.push(what);
    options.onStep?.(what);
    if (!options.dryRun) await pastPolicies(take, options.signal);
  };
  const remove = async (kind: KindRef, object: Pick<KubeObject, 'metadata'>) => {
    const { name, namespace } = object.metadata;
    const said = { kind: kind.kind, ...(namespace === undefined ? {} : { namespace }), name };
    await step({ act: 'delete', ...said }, () =>
      client.delete(kind, name, {
        ...(namespace === undefined ? {} : { namespace }),
        propagationPolicy: 'Background',
      }),
    );
  };
  const removeShipped = async (wanted: (object: AnyObject) => boolean) => {
    const gone: [KindRef, AnyObject][] = [];
    for (const object of [...shipped].reverse()) {
      if (!wanted(object)) continue;
      const kind = await client.resolveKind(object.apiVersion, object.kind);
      if (kind === undefined) continue;
      if ((await client.tryGet(kind, object.metadata.name, object.metadata.namespace)) === undefined)
        continue;
      await remove(kind, object);
      gone.push([kind, object]);
    }
    return gone;
  };

  await removeShipped(({ kind }) => policies.includes(kind));
  await untilGone(client, await removeShipped(({ kind }) => workloads.includes(kind)), options);
  await removeShipped(
    ({ kind }) => !policies.includes(kind) && !workloads.includes(kind) && !data.includes(kind),
  );
  await liftCordons(client, step);
  await liftPauses(client, step);
  await dropFinalizers(client, step);
  await removeRunLeftovers(client, remove);
  if (options.keepData) return steps;
  await removeOwnData(client, remove, step);
  // A write that was under way when the rights went may have come after the first look.
  if (!options.dryRun) await dropFinalizers(client, step);
  await removeInstances(client, shipped, step);
  for (const kind of data) {
    await untilGone(client, await removeShipped((object) => object.kind === kind && isOurs(object)), options);
  }
  return steps;
}

/** An API server goes on to judge by a policy for a moment after it is deleted. */
async function pastPolicies(take: () => Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  for (const end = systemClock.now() + policyMs; ; ) {
    try {
      await take();
      return;
    } catch (error) {
      const isOurPolicy =
        error instanceof ApiError && /ValidatingAdmissionPolicy 'sluice-/.test(error.message);
      if (!isOurPolicy || systemClock.now() > end) throw error;
      await systemClock.sleep(policyPollMs, signal);
    }
  }
}

type TakeStep = (what: UninstallStep, take: () => Promise<unknown>) => Promise<void>;

/** A namespace or a definition that the platform has anyway carries no label of ours. */
function isOurs(object: AnyObject): boolean {
  return object.metadata.labels?.[labels.partOf] === partOf;
}

async function untilGone(
  client: KubeClient,
  objects: readonly [KindRef, AnyObject][],
  options: UninstallOptions,
): Promise<void> {
  if (options.dryRun || objects.length === 0) return;
  options.onWait?.(objects.map(([kind, { metadata }]) => `${kind.kind} ${metadata.name}`).join(', '));
  for (const [kind, { metadata }] of objects) {
    await waitForDeletion(client, kind, metadata.name, {
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      timeoutMs: goneMs,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  }
}

/** A node that was being drained when Sluice went would stay cordoned for ever. */
async function liftCordons(client: KubeClient, step: TakeStep): Promise<void> {
  for (const node of (await client.list(client.kinds.Node)).items) {
    if (node.metadata.annotations?.[annotations.cordonedBy] === undefined) continue;
    const { name } = node.metadata;
    await step({ act: 'uncordon', kind: 'Node', name }, () => uncordon(client, name));
  }
}

/** So would a pool whose window is closed stay paused. */
async function liftPauses(client: KubeClient, step: TakeStep): Promise<void> {
  const kind = await client.resolveKind('machineconfiguration.openshift.io/v1', 'MachineConfigPool');
  if (kind === undefined) return;
  for (const pool of (await client.list(kind)).items) {
    if (pool.metadata.annotations?.[annotations.pausedBy] === undefined) continue;
    const { name } = pool.metadata;
    await step({ act: 'unpause', kind: kind.kind, name }, () =>
      client.patch(kind, name, {
        metadata: { annotations: { [annotations.pausedBy]: null } },
        spec: { paused: false },
      }),
    );
  }
}

/** Finalizers whose controller is gone would keep their objects, and with them definitions and namespaces. */
async function dropFinalizers(client: KubeClient, step: TakeStep): Promise<void> {
  const ours: readonly string[] = Object.values(finalizers);
  for (const kind of [client.kinds.InternalReleaseImage, client.kinds.UpdatePreflight] as KindRef[]) {
    for (const { metadata } of await listed(client, kind)) {
      const standing = metadata.finalizers ?? [];
      const kept = standing.filter((each) => !ours.includes(each));
      if (kept.length === standing.length) continue;
      const { name, namespace, resourceVersion } = metadata;
      const said = { kind: kind.kind, ...(namespace === undefined ? {} : { namespace }), name };
      await step({ act: 'release', ...said }, () =>
        client.patch(
          kind,
          name,
          { metadata: { resourceVersion, finalizers: kept } },
          namespace === undefined ? {} : { namespace },
        ),
      );
    }
  }
}

/** What a preflight run that was cut short has granted, and its Jobs. */
async function removeRunLeftovers(
  client: KubeClient,
  remove: (kind: KindRef, object: KubeObject) => Promise<void>,
): Promise<void> {
  const { kinds } = client;
  const kindsOfRuns = [
    kinds.Job,
    kinds.RoleBinding,
    kinds.Role,
    kinds.ClusterRoleBinding,
    kinds.ClusterRole,
  ] as KindRef[];
  for (const kind of kindsOfRuns) {
    const { items } = await client.list(kind, { labelSelector: labels.preflightRun });
    for (const object of items) await remove(kind, object);
  }
}

function registryObjects({ kinds, platform }: KubeClient): readonly [KindRef, string, string][] {
  const { registryAuthoritySecret, registryTlsSecret, registryClientSecret, registryCa, ...where } =
    names(platform);
  const secrets = [registryAuthoritySecret, registryTlsSecret, registryClientSecret];
  return [
    ...secrets.map((name) => [kinds.Secret, name, where.machineConfigNamespace] as [KindRef, string, string]),
    [kinds.ConfigMap, registryCa, where.machineConfigNamespace],
  ];
}

/** What the controllers made: it lies in namespaces that may be the platform's. */
async function removeOwnData(
  client: KubeClient,
  remove: (kind: KindRef, object: KubeObject) => Promise<void>,
  step: TakeStep,
): Promise<void> {
  const { kinds } = client;
  const { machineConfigNamespace, inUse, registrySecret, clusterVersionNamespace, configManagedNamespace } =
    names(client.platform);
  // On plain Kubernetes they go with the namespace.
  const certificates: readonly [KindRef, string, string][] =
    client.platform === 'openshift' ? registryObjects(client) : [];
  const made: readonly [KindRef, string, string][] = [
    ...certificates,
    [kinds.ConfigMap, inUse, machineConfigNamespace],
    [kinds.Secret, registrySecret, machineConfigNamespace],
    [kinds.Lease, 'sluice-controller', clusterVersionNamespace],
  ];
  const written = await client.list(kinds.ConfigMap, {
    namespace: configManagedNamespace,
    labelSelector: labels.releaseSignatures,
  });
  for (const object of written.items) {
    const done = signatureStep(object, new Set());
    if (done.act === 'delete') await remove(kinds.ConfigMap as KindRef, object);
    if (done.act !== 'takeOut') continue;
    const { name, namespace = '' } = object.metadata;
    await step({ act: 'release', kind: 'ConfigMap', namespace, name }, () =>
      takeOut(client, object, done.keys),
    );
  }
  for (const [kind, name, namespace] of made) {
    const object = await client.tryGet(kind, name, namespace);
    if (object !== undefined) await remove(kind, object);
  }
}

/** Before their definitions: an API server that has to delete them on its own takes its time over each. */
async function removeInstances(
  client: KubeClient,
  shipped: readonly AnyObject[],
  step: TakeStep,
): Promise<void> {
  for (const { kind, metadata } of shipped) {
    const of = (Object.values(client.kinds) as KindRef[]).find(
      (each) => resourceName(each) === metadata.name,
    );
    if (kind !== 'CustomResourceDefinition' || of === undefined) continue;
    const { length } = await listed(client, of);
    if (length === 0) continue;
    await step({ act: 'delete', kind: of.kind, name: `all ${length}` }, () => deleteAll(client, of));
  }
}

async function deleteAll(client: KubeClient, kind: KindRef): Promise<void> {
  const namespaces = kind.namespaced
    ? new Set((await client.list(kind)).items.map(({ metadata }) => metadata.namespace))
    : [undefined];
  for (const namespace of namespaces) await client.raw({ method: 'DELETE', path: pathOf(kind, namespace) });
}

async function listed(client: KubeClient, kind: KindRef): Promise<KubeObject[]> {
  try {
    return (await client.list(kind)).items;
  } catch (error) {
    if (isNotFound(error)) return []; // Its definition is gone already.
    throw error;
  }
}
