import type { Node } from '../api/core.ts';
import type { FleetLockGroup } from '../api/resources.ts';
import { messageOf } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { createInformer } from '../kube/informer.ts';
import type { Informer } from '../kube/informer-state.ts';
import { nodeInformer } from '../kube/node.ts';
import { type Clock, rfc3339 } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { groupOf } from './api-store.ts';
import { drainIsPossible, drainOnce, isOurCordon, isReady, uncordon } from './drain.ts';
import { advance, type Holder, unlock } from './slots.ts';
import type { LockStore } from './store.ts';
import { slotGranted, type Tidings } from './tidings.ts';

export interface KeeperOptions {
  readonly client: KubeClient;
  readonly store: LockStore;
  readonly tidings: Tidings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** An eviction that a PodDisruptionBudget refuses is asked for again after this long, as kubectl does. */
const evictionRetryMs = 5_000;

/**
 * What happens to holders beside their own requests: reserved ones are drained until their Pods are gone, soaking ones
 * are let go when they have stayed Ready. It follows the API by watches and asks nothing again and again.
 */
export async function keepHolders(options: KeeperOptions): Promise<void> {
  const { client, logger, signal, clock } = options;
  const groups = createInformer<FleetLockGroup>(client, client.kinds.FleetLockGroup, options);
  const nodes = nodeInformer(client, options);
  const working = new Map<
    string,
    { readonly stop: AbortController; wake(): void; readonly done: Promise<void> }
  >();

  /** One task for each holder that is drained or soaks; it ends by itself, or when the holder is gone. */
  function look(): void {
    const wanted = new Map<string, { group: string; holder: Holder }>();
    for (const object of groups.list()) {
      const { name, holders } = groupOf(object);
      for (const holder of holders) {
        const kind = holder.state === 'Soaking' ? 'soak' : 'drain';
        if (holder.state !== 'Granted') wanted.set(`${kind} ${name} ${holder.id}`, { group: name, holder });
      }
    }
    liftStrayCordons();
    for (const [key, task] of working) if (!wanted.has(key)) task.stop.abort();
    for (const [key, { group, holder }] of wanted) {
      const task = working.get(key);
      if (task !== undefined) task.wake();
      else begin(key, group, holder);
    }
  }

  let lifting: Promise<void> | undefined;

  /** Whatever was cut short: a cordon of ours on a node that holds no slot is nobody's any more. */
  function liftStrayCordons(): void {
    const strays = (holders: readonly Holder[]) =>
      nodes
        .list()
        .filter((node) => isOurCordon(node) && !holders.some((holder) => holder.node === node.metadata.name));
    if (lifting !== undefined || strays(groups.list().flatMap((each) => groupOf(each).holders)).length === 0)
      return;
    const lift = async () => {
      // What was cached may be older than the cordon: what counts is who holds a slot now.
      const now = (await options.store.groups()).flatMap(({ holders }) => holders);
      for (const { metadata } of strays(now)) {
        await uncordon(client, metadata.name);
        logger.info({ node: metadata.name }, 'lifted a cordon whose slot is gone');
      }
    };
    lifting = lift()
      .catch((error) => logger.warn({ error: messageOf(error) }, 'a cordon could not be lifted'))
      .finally(() => {
        lifting = undefined;
      });
  }

  function begin(key: string, group: string, holder: Holder): void {
    const stop = new AbortController();
    const ended = AbortSignal.any([signal, stop.signal]);
    const bell = createBell(clock, ended);
    const work = holder.state === 'Soaking' ? soakHolder : drainHolder;
    const done = work(options, { nodes, group, holder, bell, signal: ended })
      .catch((error) => {
        if (!ended.aborted)
          logger.warn({ error: messageOf(error), holder: holder.id }, 'a slot could not be kept');
      })
      .finally(() => {
        working.delete(key);
        if (!signal.aborted) look();
      });
    working.set(key, { stop, wake: bell.ring, done });
  }

  groups.start();
  nodes.start();
  await Promise.race([Promise.all([groups.synced(), nodes.synced()]), aborted(signal)]);
  groups.onChange(look);
  nodes.onChange(({ object }) => {
    if (isOurCordon(object)) liftStrayCordons();
    for (const task of working.values()) task.wake();
  });
  look();
  await aborted(signal);
  await Promise.all([...[...working.values()].map(({ done }) => done), lifting]);
}

interface Bell {
  ring(): void;
  /** Until it rings, or the time is over. */
  wait(ms: number): Promise<void>;
}

function createBell(clock: Clock, signal: AbortSignal): Bell {
  let rung = false;
  let awaken: () => void = () => {};
  return {
    ring() {
      rung = true;
      awaken();
    },
    async wait(ms) {
      if (!rung) {
        const interrupt = new AbortController();
        awaken = () => interrupt.abort();
        await clock.sleep(ms, AbortSignal.any([signal, interrupt.signal]));
        awaken = () => {};
      }
      rung = false;
    },
  };
}

/** One holder that is drained or soaks, until the signal aborts. */
interface Task {
  readonly nodes: Informer<Node>;
  readonly group: string;
  readonly holder: Holder;
  readonly bell: Bell;
  readonly signal: AbortSignal;
}

async function drainHolder(
  { client, store, tidings, clock, logger }: KeeperOptions,
  { nodes, group, holder, bell, signal }: Task,
): Promise<void> {
  const { node } = holder;
  const grant = async () => {
    await move('Granted');
    tidings(group, slotGranted(node ?? holder.id, rfc3339(clock.now())));
  };
  const move = (state: Holder['state'], message?: string) =>
    store.change(group, (slots) => ({
      holders: advance(slots.holders, holder.id, state, message),
      result: true,
    }));
  if (node === undefined) return await grant();
  const fieldSelector = `spec.nodeName=${node}`;
  const ended = new AbortController();
  const pods = createInformer(client, client.kinds.Pod, {
    fieldSelector,
    logger,
    clock,
    signal: AbortSignal.any([signal, ended.signal]),
  });
  pods.start();
  try {
    await Promise.race([pods.synced(), aborted(signal)]);
    pods.onChange(bell.ring);
    while (!signal.aborted) {
      let progress = await drainOnce(client, node, nodes.list(), pods.list());
      if (progress.kind === 'drained') {
        // The caches may be a moment behind: what counts is what the API says now. All Nodes are read only where Pods
        // would be left standing, for want of another node: in a fleet each drain would read it whole.
        const now = await client.list(client.kinds.Pod, { fieldSelector });
        const has = nodes.get(node) !== undefined && drainIsPossible(nodes.list(), node);
        const all = has ? nodes.list() : (await client.list(client.kinds.Node)).items;
        progress = await drainOnce(client, node, all, now.items);
      }
      if (signal.aborted) return;
      if (progress.kind === 'drained') return await grant();
      const leftMs = await drainLeftMs(store, group, holder, clock.now());
      if (leftMs === 0) {
        await move('Granted', `not drained: ${progress.message}`);
        const message = `${node} may reboot although it is not drained (spec.drain is BestEffort): ${progress.message}`;
        return tidings(group, { type: 'Warning', reason: 'GrantedUndrained', message });
      }
      await move('Draining', progress.message);
      await bell.wait(Math.min(evictionRetryMs, leftMs));
    }
  } finally {
    ended.abort();
  }
}

/** How long a drain is still waited for: for ever, unless an administrator has said otherwise. */
async function drainLeftMs(store: LockStore, group: string, holder: Holder, now: number): Promise<number> {
  const rule = (await store.groups()).find(({ name }) => name === group);
  if (rule === undefined || rule.drain === 'Required') return Number.POSITIVE_INFINITY;
  return rule.drain === 'None' ? 0 : Math.max(0, Date.parse(holder.since) + rule.drainTimeoutMs - now);
}

async function soakHolder(
  { store, tidings, clock, logger }: KeeperOptions,
  { nodes, group, holder, bell, signal }: Task,
): Promise<void> {
  while (!signal.aborted) {
    const minReadyMs = (await store.groups()).find(({ name }) => name === group)?.minReadyMs ?? 0;
    const leftMs = soakLeftMs(holder, nodes.get(holder.node ?? ''), minReadyMs, clock.now());
    if (leftMs === 0) {
      await store.change(group, (slots) => ({ holders: unlock(slots, holder.id), result: true }));
      logger.info({ group, node: holder.node }, 'the node has stayed ready: its slot is free');
      const message = `${holder.node ?? holder.id} has stayed Ready since ${holder.since}: its slot is free`;
      tidings(group, { type: 'Normal', reason: 'SlotFreed', message });
      return;
    }
    await bell.wait(Math.min(leftMs ?? maxWaitMs, maxWaitMs));
  }
}

const maxWaitMs = 60_000;

/** How long a node must still stay Ready; undefined while it is not. A node that is gone soaks no more. Pure. */
export function soakLeftMs(
  holder: Holder,
  node: Node | undefined,
  minReadyMs: number,
  now: number,
): number | undefined {
  if (node === undefined) return 0;
  if (!isReady(node)) return undefined;
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
  const since = Math.max(Date.parse(holder.since), Date.parse(ready ?? holder.since));
  return Math.max(0, since + minReadyMs - now);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
