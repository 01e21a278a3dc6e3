import type { Node, NodeCondition } from '../api/core.ts';
import { labels } from '../api/names.ts';
import type { KubeClient } from '../kube/client.ts';
import { isNotFound } from '../kube/error.ts';
import { createOnce } from '../kube/once.ts';
import { type Clock, rfc3339 } from '../observe/clock.ts';

export type NodeInfo = NonNullable<NonNullable<Node['status']>['nodeInfo']>;

/** What a kubelet says of its node. Only where none runs does Sluice say it in its place. */
export interface KubeletFacts {
  /** Where logs of Pods are asked for; absent where the node runs no Pods. */
  readonly port?: number | undefined;
  readonly nodeInfo: NodeInfo;
  /** Quantities, for instance `{cpu: '2', memory: '4028416Ki', pods: '110'}`. */
  readonly capacity: Readonly<Record<string, string>>;
  /** Whether the node may run Pods now, and why not. */
  readonly ready?: () => { readonly ready: boolean; readonly reason: string; readonly message: string };
}

export interface NodeObjectOptions {
  readonly client: KubeClient;
  readonly nodeName: string;
  /** InternalIP: where the registry and the kubelet listen. */
  readonly address: string;
  readonly controlPlane: boolean;
  readonly kubelet: KubeletFacts;
  readonly clock: Clock;
}

/** As the kubelet's own: a node counts as gone 40 seconds after its last word. */
const leaseSeconds = 40;
const leaseNamespace = 'kube-node-lease';

/** Makes the Node where it is missing, and gives it the labels of what it is. */
export async function ensureNode(options: NodeObjectOptions): Promise<void> {
  const { client, nodeName } = options;
  const { kinds } = client;
  const standing = await client.tryGet(kinds.Node, nodeName);
  const wanted = nodeLabels(options);
  if (standing === undefined) {
    await createOnce(client, kinds.Node, { metadata: { name: nodeName, labels: wanted }, spec: {} });
  } else if (Object.entries(wanted).some(([key, value]) => standing.metadata.labels?.[key] !== value)) {
    await client.patch(kinds.Node, nodeName, { metadata: { labels: wanted } });
  }
}

/** Whether the Node shows what this node says of itself. Errors: ApiError (NotFound). */
export async function isShown(options: NodeObjectOptions): Promise<boolean> {
  const { ready, reason } = readyOf(options);
  const node = await options.client.get(options.client.kinds.Node, options.nodeName);
  const shown = node.status?.conditions?.find((each) => each.type === 'Ready');
  return shown?.status === (ready ? 'True' : 'False') && shown.reason === reason;
}

/** Says of the Node what a kubelet would. Errors: ApiError. */
export async function writeStatus(options: NodeObjectOptions): Promise<void> {
  const { client, nodeName, address, kubelet, clock } = options;
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
        capacity: kubelet.capacity,
        allocatable: kubelet.capacity,
        conditions: [...others, condition],
        nodeInfo: kubelet.nodeInfo,
        daemonEndpoints: kubelet.port === undefined ? null : { kubeletEndpoint: { Port: kubelet.port } },
      },
    },
    { subresource: 'status', type: 'merge' },
  );
}

/** Errors: ApiError. */
export async function renewLease({ client, nodeName, clock }: NodeObjectOptions): Promise<void> {
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

function nodeLabels({
  nodeName,
  controlPlane,
  kubelet: { nodeInfo },
}: NodeObjectOptions): Record<string, string> {
  return {
    [labels.hostname]: nodeName,
    [controlPlane ? labels.controlPlane : labels.worker]: '',
    'kubernetes.io/os': nodeInfo.operatingSystem,
    'kubernetes.io/arch': nodeInfo.architecture,
  };
}

function readyOf({ kubelet }: NodeObjectOptions): { ready: boolean; reason: string; message: string } {
  return (
    kubelet.ready?.() ?? { ready: true, reason: 'KubeletReady', message: 'sluice is posting ready status' }
  );
}
