import { quorumTrouble } from '../gates/quorum.ts';
import { limitFor, type PoolRule, poolRuleDefault, type RolloutRules } from './rules.ts';

/** One node as the rollout looks at it. */
export interface RolloutNode {
  readonly name: string;
  readonly controlPlane: boolean;
  /** The pool of a worker; not looked at for the control plane. */
  readonly pool: string;
  readonly ready: boolean;
  /** Whether its agent says that it asks the fleet lock before it reboots. */
  readonly usesLock: boolean;
  /** NodeUpdate.spec.osImage; undefined where none was given to it yet. */
  readonly wantedImage: string | undefined;
  /** NodeUpdate.status.booted.image; undefined where no agent has said so. */
  readonly bootedImage: string | undefined;
  readonly stagedImage: string | undefined;
  readonly state: string | undefined;
  /** Why its agent needs a person; undefined where it does not. */
  readonly failure: string | undefined;
  /** What holds its reboot, in the order in which the node reports it. */
  readonly holds: readonly {
    readonly gate: string;
    readonly reason: string;
    readonly message: string;
    readonly since: string;
  }[];
}

/** Why a node is not there yet. */
export type WaitCause =
  | 'Held'
  | 'Staging'
  | 'Rebooting'
  | 'NotReady'
  | 'NoAgent'
  | 'Failed'
  | 'ControlPlaneFirst'
  | 'CanariesFirst'
  | 'Turn'
  | 'Quorum'
  | 'Paused'
  | 'Stopped';

/** A node that is not there yet, and what it waits for. */
export interface RolloutWait {
  readonly node: string;
  readonly cause: WaitCause;
  /** What holds it, where it is held: marker_file, fleet_lock, … */
  readonly gate?: string;
  readonly message: string;
  readonly since?: string;
}

export interface RolloutPlan {
  /** Nodes whose wanted image must be set now, sorted. */
  readonly assign: readonly string[];
  /** Nodes that run the image, sorted. */
  readonly done: readonly string[];
  /** The others, in the order in which they are updated. */
  readonly waiting: readonly RolloutWait[];
}

/**
 * Which nodes get the image now. The control plane goes first, one at a time and only while etcd keeps its quorum;
 * then the pools of workers side by side, each with its canaries before the others and within its limit. A node that
 * fails stops everything that was not begun. Everything follows from what nodes say, so that it goes on after a
 * restart where it was. A node is done when it runs the image, not when it was told to.
 */
export function planRollout(
  image: string,
  nodes: readonly RolloutNode[],
  rules: RolloutRules = { pools: new Map(), lockHolds: false },
): RolloutPlan {
  const failed = nodes.filter(
    (node) => node.failure !== undefined && isTold(node, image) && !isDone(node, image),
  );
  const stopped = failed.length === 0 ? undefined : failed.map((node) => node.name).sort();
  const controlPlane = byName(nodes.filter((node) => node.controlPlane));
  const workers = nodes.filter((node) => !node.controlPlane);
  const isControlPlaneDone = controlPlane.every((node) => isDone(node, image));
  const waits: RolloutWait[] = [];
  const assign: string[] = [];
  const groups: Group[] = [
    controlPlaneGroup(image, controlPlane, rules),
    ...poolsOf(workers).map(([pool, members]) =>
      workerGroup(image, members, rules.pools.get(pool) ?? poolRuleDefault, isControlPlaneDone),
    ),
  ];
  for (const { members, turn } of groups) {
    for (const node of members) {
      if (isDone(node, image)) continue;
      const held = isTold(node, image) ? undefined : stopped === undefined ? turn(node) : stoppedBy(stopped);
      if (held === undefined) {
        if (!isTold(node, image)) assign.push(node.name);
        waits.push(underWay(node, image));
      } else waits.push({ node: node.name, ...held });
    }
  }
  const done = nodes.filter((node) => isDone(node, image)).map((node) => node.name);
  return { assign: assign.sort(), done: done.sort(), waiting: waits };
}

type Hold = Omit<RolloutWait, 'node'>;

interface Group {
  readonly members: readonly RolloutNode[];
  /** Why a node that was not told yet is not told now; undefined where it is its turn. */
  readonly turn: (node: RolloutNode) => Hold | undefined;
}

function controlPlaneGroup(image: string, members: readonly RolloutNode[], rules: RolloutRules): Group {
  const troubleWithout = (node: RolloutNode) =>
    quorumTrouble(members.filter((each) => each !== node).map((each) => each.ready));
  const next = members.find(
    (node) => !isDone(node, image) && !isTold(node, image) && troubleWithout(node) === undefined,
  );
  const away = members.find((node) => isTold(node, image) && !isDone(node, image));
  return {
    members,
    turn: (node) => {
      const trouble = troubleWithout(node);
      if (trouble !== undefined) return { cause: 'Quorum', message: `waits, since without it ${trouble}` };
      // The lock's slots let one node go at a time, but only those that say that they ask it.
      if (rules.lockHolds && members.every((each) => each.usesLock)) return undefined;
      if (away !== undefined) return { cause: 'Turn', message: `waits for its turn after ${away.name}` };
      return node === next ? undefined : { cause: 'Turn', message: `waits for its turn after ${next?.name}` };
    },
  };
}

function workerGroup(
  image: string,
  members: readonly RolloutNode[],
  rule: PoolRule,
  isControlPlaneDone: boolean,
): Group {
  const canaries = new Set(
    typeof rule.canaries === 'number'
      ? members.slice(0, rule.canaries).map((node) => node.name)
      : members
          .filter((node) => (rule.canaries as readonly string[]).includes(node.name))
          .map(({ name }) => name),
  );
  const ordered = [...members].sort((a, b) => Number(canaries.has(b.name)) - Number(canaries.has(a.name)));
  const areCanariesDone = members.every((node) => !canaries.has(node.name) || isDone(node, image));
  const underWayCount = members.filter((node) => isTold(node, image) && !isDone(node, image)).length;
  // A node that is down for its own reasons counts too: the limit is on what the pool lacks.
  const down = members.filter((node) => !node.ready && !isTold(node, image)).length;
  let room = limitFor(rule, members.length) - underWayCount - down;
  return {
    members: ordered,
    turn: (node) => {
      if (!isControlPlaneDone) {
        return { cause: 'ControlPlaneFirst', message: 'waits until the control plane runs the new OS image' };
      }
      if (rule.paused) return { cause: 'Paused', message: `waits, since its pool ${node.pool} is paused` };
      if (!areCanariesDone && !canaries.has(node.name)) {
        return {
          cause: 'CanariesFirst',
          message: `waits for the canaries ${[...canaries].sort().join(', ')}`,
        };
      }
      if (room <= 0) return { cause: 'Turn', message: `waits for its turn in the pool ${node.pool}` };
      room -= 1;
      return undefined;
    },
  };
}

function poolsOf(workers: readonly RolloutNode[]): [string, RolloutNode[]][] {
  const pools = new Map<string, RolloutNode[]>();
  for (const node of byName(workers)) {
    const pool = pools.get(node.pool);
    if (pool === undefined) pools.set(node.pool, [node]);
    else pool.push(node);
  }
  return [...pools].sort(([a], [b]) => (a < b ? -1 : 1));
}

function stoppedBy(failed: readonly string[]): Hold {
  return { cause: 'Stopped', message: `waits, since the rollout is stopped by ${failed.join(', ')}` };
}

/** How a node that was told stands. */
function underWay(node: RolloutNode, image: string): RolloutWait {
  const wait = (cause: WaitCause, message: string): RolloutWait => ({ node: node.name, cause, message });
  if (node.failure !== undefined) return wait('Failed', node.failure);
  if (runs(node, image)) return wait('NotReady', 'runs the new OS image and is not ready yet');
  if (node.bootedImage === undefined && node.state === undefined) {
    return wait('NoAgent', 'no agent on it has reported an OS image');
  }
  const [hold] = node.holds;
  const isStaged = sameImage(node.stagedImage, image);
  if (hold !== undefined) {
    const { gate, since } = hold;
    const words = `${isStaged ? 'staged and held' : 'held'} since ${since}: ${hold.message}`;
    return { node: node.name, cause: 'Held', gate, since, message: words };
  }
  return isStaged
    ? wait('Rebooting', 'has staged the new OS image and reboots into it')
    : wait('Staging', 'stages the new OS image');
}

function byName(nodes: readonly RolloutNode[]): RolloutNode[] {
  return [...nodes].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function isDone(node: RolloutNode, image: string): boolean {
  return runs(node, image) && node.ready;
}

function isTold(node: RolloutNode, image: string): boolean {
  return sameImage(node.wantedImage, image);
}

function runs(node: RolloutNode, image: string): boolean {
  return sameImage(node.bootedImage, image);
}

/** By digest: the same image may come by the name of a mirror. */
function sameImage(a: string | undefined, b: string): boolean {
  return a !== undefined && digestOf(a) !== '' && digestOf(a) === digestOf(b);
}

function digestOf(image: string): string {
  return image.slice(image.lastIndexOf('@') + 1);
}
