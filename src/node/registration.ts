import type { KubeObject, Node, NodeCondition } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import { labels } from '../api/names.ts';
import { messageOf } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists, isNotFound } from '../kube/error.ts';
import { type Clock, rfc3339 } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';

export type NodeInfo = NonNullable<NonNullable<Node['status']>['nodeInfo']>;

export interface RegistrationOptions {
  readonly client: KubeClient;
  readonly nodeName: string;
  /** InternalIP: where the registry and the kubelet listen. */
  readonly address: string;
  /** Where logs of Pods are asked for; absent where the node runs no Pods. */
  readonly kubeletPort?: number | undefined;
  readonly nodeInfo: NodeInfo;
  /** Quantities, for instance `{cpu: '2', memory: '4028416Ki', pods: '110'}`. */
  readonly capacity: Readonly<Record<string, string>>;
  /** Whether the node may run Pods now, and why not. */
  readonly ready?: () => { readonly ready: boolean; readonly reason: string; readonly message: string };
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** As the kubelet's own: a node counts as gone 40 seconds after its last word. */
const leaseSeconds = 40;
const renewMs = 10_000;
/** The Node's status is written anew at least this often, as the kubelet does. */
const statusMs = 5 * 60_000;
const retryMs = 1_000;
const leaseNamespace = 'kube-node-lease';

/** MachineConfigNode needs a configuration's name; Sluice renders none. */
const noConfiguration = 'not-rendered';

/**
 * Makes the node's objects: Node, NodeUpdate, MachineConfigNode and its lease. Tries until the API takes them;
 * resolves when they stand, or when `signal` aborts.
 */
export async function registerNode(options: RegistrationOptions): Promise<void> {
  const { logger, clock, signal, nodeName } = options;
  while (!signal.aborted) {
    try {
      await ensureObjects(options);
      await writeStatus(options);
      await renewLease(options);
      logger.info({ node: nodeName }, 'node registered');
      return;
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ node: nodeName, error: messageOf(error) }, 'node cannot register yet');
      await clock.sleep(retryMs, signal);
    }
  }
}

/**
 * Keeps saying that the node lives until `signal` aborts: lease, Ready condition, boot id; objects that somebody
 * deleted are made again. Never rejects.
 */
export async function keepNode(options: RegistrationOptions): Promise<void> {
  const { logger, clock, signal } = options;
  let statusAt = clock.now();
  while (!signal.aborted) {
    await clock.sleep(renewMs, signal);
    if (signal.aborted) return;
    try {
      await renewLease(options);
      await ensureObjects(options);
      // Others write the condition too: a node that was silent for a while is marked Unknown until it says more.
      if ((await isShown(options)) && clock.now() - statusAt < statusMs) continue;
      await writeStatus(options);
      statusAt = clock.now();
    } catch (error) {
      if (isNotFound(error)) await registerNode(options);
      else if (!signal.aborted) logger.warn({ error: messageOf(error) }, 'node lease not renewed');
    }
  }
}

async function ensureObjects(options: RegistrationOptions): Promise<void> {
  const { client, nodeName } = options;
  const { kinds } = client;
  const standing = await client.tryGet(kinds.Node, nodeName);
  const wanted = nodeLabels(options);
  if (standing === undefined) {
    await createOnce(client, kinds.Node, { metadata: { name: nodeName, labels: wanted }, spec: {} });
  } else if (Object.entries(wanted).some(([key, value]) => standing.metadata.labels?.[key] !== value)) {
    await client.patch(kinds.Node, nodeName, { metadata: { labels: wanted } });
  }
  await createOnce(client, kinds.NodeUpdate, { metadata: { name: nodeName }, spec: {} });
  await createOnce(client, kinds.MachineConfigNode, {
    metadata: { name: nodeName },
    spec: {
      node: { name: nodeName },
      pool: { name: 'master' },
      configVersion: { desired: noConfiguration },
    },
  });
}

async function createOnce<T extends KubeObject>(
  client: KubeClient,
  kind: KindRef<T>,
  object: Parameters<typeof client.create<T>>[1],
): Promise<void> {
  if ((await client.tryGet(kind, object.metadata.name ?? '')) !== undefined) return;
  try {
    await client.create(kind, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

function nodeLabels({ nodeName, nodeInfo }: RegistrationOptions): Record<string, string> {
  return {
    [labels.hostname]: nodeName,
    [labels.controlPlane]: '',
    'kubernetes.io/os': nodeInfo.operatingSystem,
    'kubernetes.io/arch': nodeInfo.architecture,
  };
}

/** Whether the Node shows what this node says of itself. Errors: ApiError (NotFound). */
async function isShown(options: RegistrationOptions): Promise<boolean> {
  const { ready, reason } = readyOf(options);
  const node = await options.client.get(options.client.kinds.Node, options.nodeName);
  const shown = node.status?.conditions?.find((each) => each.type === 'Ready');
  return shown?.status === (ready ? 'True' : 'False') && shown.reason === reason;
}

function readyOf(options: RegistrationOptions): { ready: boolean; reason: string; message: string } {
  return (
    options.ready?.() ?? { ready: true, reason: 'KubeletReady', message: 'sluice is posting ready status' }
  );
}

async function writeStatus(options: RegistrationOptions): Promise<void> {
  const { client, nodeName, address, kubeletPort, clock } = options;
  const standing = await client.get(client.kinds.Node, nodeName);
  const now = rfc3339(clock.now());
  const { ready, reason, message } = readyOf(options);
  const status = ready ? 'True' : 'False';
  const before = standing.status?.conditions?.find((each) => each.type === 'Ready');
  const condition: NodeCondition = {
    type: 'Ready',
    status,
    reason,
    message,
    lastHeartbeatTime: now,
    lastTransitionTime: before?.status === status ? (before.lastTransitionTime ?? now) : now,
  };
  const others = (standing.status?.conditions ?? []).filter((each) => each.type !== 'Ready');
  await client.patch(
    client.kinds.Node,
    nodeName,
    {
      status: {
        addresses: [
          { type: 'InternalIP', address },
          { type: 'Hostname', address: nodeName },
        ],
        capacity: options.capacity,
        allocatable: options.capacity,
        conditions: [...others, condition],
        nodeInfo: options.nodeInfo,
        daemonEndpoints: kubeletPort === undefined ? null : { kubeletEndpoint: { Port: kubeletPort } },
      },
    },
    { subresource: 'status', type: 'merge' },
  );
}

async function renewLease({ client, nodeName, clock }: RegistrationOptions): Promise<void> {
  const { Lease } = client.kinds;
  const renewTime = `${new Date(clock.now()).toISOString().slice(0, 23)}000Z`;
  const spec = { holderIdentity: nodeName, leaseDurationSeconds: leaseSeconds, renewTime };
  try {
    await client.patch(Lease, nodeName, { spec }, { namespace: leaseNamespace });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await client.create(Lease, { metadata: { name: nodeName, namespace: leaseNamespace }, spec });
  }
}
