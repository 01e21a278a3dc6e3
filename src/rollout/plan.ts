/** One node as the rollout looks at it. */
export interface RolloutNode {
  readonly name: string;
  readonly controlPlane: boolean;
  readonly ready: boolean;
  /** NodeUpdate.spec.osImage; undefined where none was given to it yet. */
  readonly wantedImage: string | undefined;
  /** NodeUpdate.status.booted.image; undefined where no agent has said so. */
  readonly bootedImage: string | undefined;
  readonly stagedImage: string | undefined;
  readonly state: string | undefined;
  /** What holds its reboot, in the order in which the node reports it. */
  readonly holds: readonly { readonly reason: string; readonly message: string; readonly since: string }[];
}

/** A node that is not there yet, and what it waits for. */
export interface RolloutWait {
  readonly node: string;
  readonly reason: string;
  readonly message: string;
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
 * Which nodes get the image now. The control plane goes first and workers only after all of it runs the image; how
 * many of a group are away at once is the fleet lock's to say, and when, each node's own rule. A node is done when
 * it runs the image, not when it was told to.
 */
export function planRollout(image: string, nodes: readonly RolloutNode[]): RolloutPlan {
  const ordered = [...nodes].sort(
    (a, b) => Number(b.controlPlane) - Number(a.controlPlane) || (a.name < b.name ? -1 : 1),
  );
  const isDone = (node: RolloutNode) => runs(node, image) && node.ready;
  const controlPlaneDone = ordered.every((node) => !node.controlPlane || isDone(node));
  const isTurn = (node: RolloutNode) => node.controlPlane || controlPlaneDone;
  return {
    assign: ordered
      .filter((node) => isTurn(node) && !sameImage(node.wantedImage, image))
      .map((node) => node.name)
      .sort(),
    done: ordered
      .filter(isDone)
      .map((node) => node.name)
      .sort(),
    waiting: ordered.filter((node) => !isDone(node)).map((node) => waitOf(node, image, isTurn(node))),
  };
}

function waitOf(node: RolloutNode, image: string, isTurn: boolean): RolloutWait {
  const wait = (reason: string, message: string) => ({ node: node.name, reason, message });
  if (!isTurn) return wait('ControlPlaneFirst', 'waits until the control plane runs the new OS image');
  if (runs(node, image)) return wait('NodeNotReady', 'runs the new OS image and is not ready yet');
  if (node.bootedImage === undefined && node.state === undefined) {
    return wait('NoAgent', 'no agent on it has reported an OS image');
  }
  const [hold] = node.holds;
  if (sameImage(node.stagedImage, image)) {
    return hold === undefined
      ? wait('Rebooting', 'has staged the new OS image and reboots into it')
      : wait(hold.reason, `staged and held since ${hold.since}: ${hold.message}`);
  }
  return hold === undefined
    ? wait('Staging', 'stages the new OS image')
    : wait(hold.reason, `held since ${hold.since}: ${hold.message}`);
}

function runs(node: RolloutNode, image: string): boolean {
  return sameImage(node.bootedImage, image);
}

/** By digest: the same image may come by the name of a mirror (P-90). */
function sameImage(a: string | undefined, b: string): boolean {
  return a !== undefined && digestOf(a) !== '' && digestOf(a) === digestOf(b);
}

function digestOf(image: string): string {
  return image.slice(image.lastIndexOf('@') + 1);
}
