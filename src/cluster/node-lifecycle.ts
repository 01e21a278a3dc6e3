import type { Node, Pod } from '../api/core.ts';
import { type Requeue, runController, watchOf } from '../kube/controller.ts';
import { createEventRecorder, type EventRecorder } from '../kube/events.ts';
import { createInformer } from '../kube/informer.ts';
import { rfc3339 } from '../observe/clock.ts';
import { type ControllerContext, flushEvents, ignoreNotFound } from './context.ts';
import { driveOut, nodeGraceMs, signOfLife, silentConditions, taintsOf } from './node-health.ts';
import { isReady, isTerminal } from './pod-facts.ts';

const leaseNamespace = 'kube-node-lease';
/** A node that is gone may come back under its name: its Pods are kept for this long (kubernetes, podgc quarantine). */
const goneNodeMs = 40_000;
/** The next look at a node comes when its grace is over; by so much more it is late only if this process stood still. */
const sleptMs = 10_000;

/**
 * Watches over nodes (kubernetes, pkg/controller/{nodelifecycle,tainteviction,podgc}): one that falls silent becomes
 * Unknown, is tainted, and loses its Pods after a while; Pods of a node that is gone are deleted. Time counts from
 * when a sign of life was *seen*, so that a node's wrong clock harms nobody.
 */
export async function runNodeLifecycle(context: ControllerContext): Promise<void> {
  const { client, informers, logger, signal, clock } = context;
  const { kinds } = client;
  const nodes = informers.of(kinds.Node);
  const pods = informers.of(kinds.Pod);
  const leases = createInformer(client, kinds.Lease, { namespace: leaseNamespace, logger, signal, clock });
  const events = createEventRecorder(client, { component: 'node-controller', logger, clock });
  const lives = new Map<string, { sign: string; seenMs: number; silent: boolean }>();
  const gone = new Map<string, number>();

  const podsOn = (name: string) => pods.list().filter((pod) => pod.spec.nodeName === name);

  async function reconcile(name: string): Promise<Requeue | undefined> {
    const node = nodes.get(name);
    if (node === undefined) return await clearGone(name);
    gone.delete(name);
    const graceMs = graceLeft(node);
    const current = graceMs > 0 ? node : await declareSilent(node);
    const tainted = await taint(current);
    if (graceMs <= 0) await markNotReady(podsOn(name));
    const { pods: due, nextMs } = driveOut(tainted, podsOn(name), clock.now());
    for (const pod of due) await evict(context, events, pod, tainted);
    const never = Number.POSITIVE_INFINITY;
    const next = Math.min(nextMs ?? never, graceMs > 0 ? graceMs : never);
    return next === never ? undefined : { requeueAfterMs: next };
  }

  /** Milliseconds until the node counts as silent; 0 where it does. */
  function graceLeft(node: Node): number {
    const { name } = node.metadata;
    const sign = `${node.metadata.uid} ${signOfLife(node, leases.get(name, leaseNamespace))}`;
    const now = clock.monotonic();
    const known = lives.get(name);
    const lateMs = known === undefined ? 0 : now - known.seenMs - nodeGraceMs;
    const asleep = known !== undefined && !known.silent && lateMs > sleptMs;
    // Whoever looks this late has been asleep, as a closed laptop is, and cannot blame the node.
    if (known?.sign !== sign || asleep) {
      lives.set(name, { sign, seenMs: now, silent: false });
      return nodeGraceMs;
    }
    if (lateMs >= 0) known.silent = true;
    return Math.max(0, -lateMs);
  }

  async function declareSilent(node: Node): Promise<Node> {
    const conditions = silentConditions(node, clock.now());
    if (conditions === node.status?.conditions) return node;
    const written = await client.updateStatus(kinds.Node, {
      ...node,
      status: { ...node.status, conditions: [...conditions] },
    });
    const { name } = node.metadata;
    logger.warn({ node: name }, 'node has fallen silent');
    const message = `Node ${name} status is now: NodeNotReady`;
    events.record({ kind: kinds.Node, object: node, type: 'Normal', reason: 'NodeNotReady', message });
    return written;
  }

  async function taint(node: Node): Promise<Node> {
    const taints = taintsOf(node, clock.now());
    if (taints === node.spec?.taints || (taints.length === 0 && node.spec?.taints === undefined)) return node;
    const { name, resourceVersion } = node.metadata;
    return await client.patch(kinds.Node, name, { metadata: { resourceVersion }, spec: { taints } });
  }

  /** What nobody can vouch for any more is not ready: a Deployment must not count on it. */
  async function markNotReady(on: readonly Pod[]): Promise<void> {
    for (const pod of on) {
      if (!isReady(pod) || isTerminal(pod)) continue;
      const conditions = (pod.status?.conditions ?? []).map((condition) =>
        condition.type === 'Ready'
          ? { ...condition, status: 'False' as const, lastTransitionTime: rfc3339(clock.now()) }
          : condition,
      );
      const status = { ...pod.status, conditions };
      await client.updateStatus(kinds.Pod, { ...pod, status }).catch(ignoreNotFound);
    }
  }

  async function clearGone(name: string): Promise<Requeue | undefined> {
    lives.delete(name);
    const left = podsOn(name);
    if (left.length === 0) {
      gone.delete(name);
      return undefined;
    }
    const since = gone.get(name) ?? clock.monotonic();
    gone.set(name, since);
    const leftMs = since + goneNodeMs - clock.monotonic();
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    if ((await client.tryGet(kinds.Node, name)) !== undefined) return undefined;
    for (const { metadata } of left) {
      const { name: pod, namespace = '', uid } = metadata;
      const same = uid === undefined ? {} : { uid };
      await client.delete(kinds.Pod, pod, { namespace, gracePeriodSeconds: 0, ...same });
      logger.info({ pod: `${namespace}/${pod}`, node: name }, 'deleted a Pod of a node that is gone');
    }
    return undefined;
  }

  await runController({
    ...context,
    name: 'node-lifecycle',
    watches: [
      watchOf(nodes, { keysOf: ({ metadata }) => [metadata.name] }),
      watchOf(leases, { keysOf: ({ metadata }) => [metadata.name] }),
      watchOf(pods, { keysOf: ({ spec }) => (spec.nodeName === undefined ? [] : [spec.nodeName]) }),
    ],
    reconcile,
  });
  await flushEvents(events, clock);
}

/** Deletes a Pod that a taint drives out, having said so on it (kubernetes, DeletionByTaintManager). */
async function evict(
  { client, clock }: ControllerContext,
  events: EventRecorder,
  pod: Pod,
  node: Node,
): Promise<void> {
  const { kinds } = client;
  const { name, namespace = '', uid } = pod.metadata;
  const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'DisruptionTarget');
  const condition = {
    type: 'DisruptionTarget',
    status: 'True' as const,
    reason: 'DeletionByTaintManager',
    message: 'Taint manager: deleting due to NoExecute taint',
    lastTransitionTime: rfc3339(clock.now()),
  };
  const status = { ...pod.status, conditions: [...others, condition] };
  await client.updateStatus(kinds.Pod, { ...pod, status }).catch(ignoreNotFound);
  const same = uid === undefined ? {} : { uid };
  if (!(await client.delete(kinds.Pod, name, { namespace, ...same }))) return;
  const message = `Marking for deletion Pod ${namespace}/${name} of node ${node.metadata.name}`;
  events.record({ kind: kinds.Pod, object: pod, type: 'Normal', reason: 'TaintManagerEviction', message });
}
