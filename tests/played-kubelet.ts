import type { Node, Pod } from '../src/api/core.ts';
import type { KubeClient } from '../src/kube/client.ts';
import { createInformer } from '../src/kube/informer.ts';
import type { NodeInfo } from '../src/node/node-object.ts';
import { rfc3339 } from '../src/observe/clock.ts';
import { silentLogger } from '../src/observe/log.ts';

/** How a played Pod goes: `run` until it is deleted, end well or badly, or never start. */
export type Play = 'run' | 'succeed' | 'fail' | 'hang';

/** What a kubelet says of its machine. */
export function playedNodeInfo(machine: string, bootID: string): NodeInfo {
  return {
    machineID: machine,
    systemUUID: machine,
    bootID,
    kernelVersion: '6.1.0',
    osImage: 'test',
    containerRuntimeVersion: 'none',
    kubeletVersion: 'v1.34.0',
    kubeProxyVersion: '',
    operatingSystem: 'linux',
    architecture: 'amd64',
  };
}

/** Makes a Node that is ready, with room for Pods. */
export async function makeReadyNode(
  client: KubeClient,
  name: string,
  given: Partial<Pick<Node, 'spec'>> & { labels?: Record<string, string> } = {},
): Promise<Node> {
  const { kinds } = client;
  const labels = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...given.labels };
  await client.create(kinds.Node, { metadata: { name, labels }, spec: given.spec ?? {} });
  const now = rfc3339(Date.now());
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady' };
  const status = {
    allocatable: { cpu: '4', memory: '8Gi', pods: '110' },
    conditions: [{ ...ready, lastHeartbeatTime: now, lastTransitionTime: now }],
  };
  // A patch: the node's controllers may write it in the same moment.
  return await client.patch(kinds.Node, name, { status }, { subresource: 'status' });
}

/**
 * Plays the kubelets of all nodes until the signal aborts, for tests of what is above them: Pods become Running and
 * ready, end as `play` says, and go when they are told to.
 */
export function playKubelets(
  client: KubeClient,
  signal: AbortSignal,
  play: (pod: Pod) => Play = () => 'run',
): void {
  const { kinds } = client;
  const pods = createInformer(client, kinds.Pod, { logger: silentLogger, signal });
  const handled = new Set<string>();

  async function look(pod: Pod): Promise<void> {
    const { name, namespace = '', uid = '', deletionTimestamp } = pod.metadata;
    if (pod.spec.nodeName === undefined) return;
    if (deletionTimestamp !== undefined) {
      await client.delete(kinds.Pod, name, { namespace, gracePeriodSeconds: 0, uid });
      return;
    }
    const plays = play(pod);
    if (handled.has(uid) || plays === 'hang') return;
    handled.add(uid);
    await client.updateStatus(kinds.Pod, { ...pod, status: { ...pod.status, ...statusOf(pod, plays) } });
  }

  pods.onChange((change) => {
    if (change.type === 'deleted') return;
    const { uid = '' } = change.object.metadata;
    // It was changed in between, or is gone: the next change brings it again.
    look(change.object).catch(() => handled.delete(uid));
  });
  pods.start();
}

function statusOf(pod: Pod, play: Exclude<Play, 'hang'>): NonNullable<Pod['status']> {
  const now = rfc3339(Date.now());
  const runs = play === 'run';
  const terminated = { exitCode: play === 'fail' ? 1 : 0, finishedAt: now, startedAt: now };
  const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'Ready');
  return {
    phase: runs ? 'Running' : play === 'fail' ? 'Failed' : 'Succeeded',
    startTime: now,
    conditions: [...others, { type: 'Ready', status: runs ? 'True' : 'False', lastTransitionTime: now }],
    containerStatuses: pod.spec.containers.map(({ name, image = '' }) => ({
      name,
      ready: runs,
      restartCount: 0,
      image,
      imageID: '',
      state: runs ? { running: { startedAt: now } } : { terminated },
    })),
  };
}
