import type { Node, Pod, PodCondition, PodSpec } from '../api/core.ts';
import { keyOf, parseKey } from '../kube/cache.ts';
import { pathOf } from '../kube/client.ts';
import { runController, watchOf } from '../kube/controller.ts';
import { isConflict, isNotFound } from '../kube/error.ts';
import { createEventRecorder } from '../kube/events.ts';
import { rfc3339 } from '../observe/clock.ts';
import { type ControllerContext, flushEvents, ignoreNotFound } from './context.ts';
import { place } from './placement.ts';
import { isTerminal } from './pod-facts.ts';

type SchedulingFields = PodSpec & { schedulerName?: string; schedulingGates?: readonly { name: string }[] };

const schedulerName = 'default-scheduler';
const concurrency = 8;

/** Binds Pods that have no node to nodes, as `place` decides, and says on a Pod why none fits it. */
export async function runScheduler(context: ControllerContext): Promise<void> {
  const { client, informers, logger, clock } = context;
  const { kinds } = client;
  const pods = informers.of(kinds.Pod);
  const nodes = informers.of(kinds.Node);
  const events = createEventRecorder(client, { component: schedulerName, logger, clock });
  /** Bound by us and not yet seen as such, by uid: they take room where they go. */
  const assumed = new Map<string, string>();
  /** Keys of Pods that found no node: looked at again when one may have room. */
  const unplaced = new Set<string>();

  pods.onChange(({ type, object }) => {
    if (type === 'deleted') unplaced.delete(keyOf(object));
    if (type === 'deleted' || object.spec.nodeName !== undefined) assumed.delete(object.metadata.uid ?? '');
  });

  function placed(): Pod[] {
    return pods.list().map((pod) => {
      const nodeName = assumed.get(pod.metadata.uid ?? '');
      return nodeName === undefined ? pod : { ...pod, spec: { ...pod.spec, nodeName } };
    });
  }

  async function reconcile(key: string): Promise<void> {
    const { name, namespace } = parseKey(key);
    const pod = pods.get(name, namespace);
    unplaced.delete(key);
    if (pod === undefined || !waitsForNode(pod) || assumed.has(pod.metadata.uid ?? '')) return;
    const gates = (pod.spec as SchedulingFields).schedulingGates ?? [];
    if (gates.length > 0) {
      await refuse(pod, 'SchedulingGated', 'Scheduling is blocked due to non-empty scheduling gates');
      return;
    }
    const placement = place(pod, nodes.list(), placed());
    if ('node' in placement) {
      await bind(pod, placement.node);
      return;
    }
    unplaced.add(key);
    const { unschedulable } = placement;
    if (!(await refuse(pod, 'Unschedulable', unschedulable))) return;
    events.record({
      kind: kinds.Pod,
      object: pod,
      type: 'Warning',
      reason: 'FailedScheduling',
      message: unschedulable,
    });
  }

  async function bind(pod: Pod, node: string): Promise<void> {
    const { name, namespace = '', uid = '' } = pod.metadata;
    // Before the call: the watch may tell of the binding before its answer comes.
    assumed.set(uid, node);
    try {
      await client.raw({
        method: 'POST',
        path: pathOf(kinds.Pod, namespace, name, 'binding'),
        body: {
          apiVersion: 'v1',
          kind: 'Binding',
          metadata: { name, namespace, uid },
          target: { apiVersion: 'v1', kind: 'Node', name: node },
        },
      });
    } catch (error) {
      assumed.delete(uid);
      // It is gone, going, or bound by another one: the watch says so.
      if (isNotFound(error) || isConflict(error)) return;
      throw error;
    }
    const message = `Successfully assigned ${namespace}/${name} to ${node}`;
    events.record({ kind: kinds.Pod, object: pod, type: 'Normal', reason: 'Scheduled', message });
  }

  /** Says on the Pod why it waits. False where it says so already. */
  async function refuse(pod: Pod, reason: string, message: string): Promise<boolean> {
    const conditions = pod.status?.conditions ?? [];
    const standing = conditions.find(({ type }) => type === 'PodScheduled');
    if (standing?.status === 'False' && standing.reason === reason && standing.message === message) {
      return false;
    }
    const since = standing?.status === 'False' ? standing.lastTransitionTime : undefined;
    const condition: PodCondition = {
      type: 'PodScheduled',
      status: 'False',
      reason,
      message,
      lastTransitionTime: since ?? rfc3339(clock.now()),
    };
    const others = conditions.filter(({ type }) => type !== 'PodScheduled');
    const status = { phase: 'Pending' as const, ...pod.status, conditions: [...others, condition] };
    const written = await client.updateStatus(kinds.Pod, { ...pod, status }).catch(ignoreNotFound);
    return written !== undefined;
  }

  await runController({
    ...context,
    name: 'scheduler',
    concurrency,
    watches: [
      watchOf(pods, {
        // A Pod that has a node may have ended or gone, which makes room.
        keysOf: (pod) => (waitsForNode(pod) ? [keyOf(pod)] : [...unplaced]),
      }),
      watchOf(nodes, { keysOf: (_node: Node) => [...unplaced] }),
    ],
    reconcile,
  });
  await flushEvents(events, clock);
}

function waitsForNode(pod: Pod): boolean {
  const { schedulerName: wanted = schedulerName } = pod.spec as SchedulingFields;
  return (
    (pod.spec.nodeName ?? '') === '' &&
    wanted === schedulerName &&
    pod.metadata.deletionTimestamp === undefined &&
    !isTerminal(pod)
  );
}
