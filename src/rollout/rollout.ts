import type { Node } from '../api/core.ts';
import type { KindRef } from '../api/kinds.ts';
import { labels, names } from '../api/names.ts';
import type { NodeUpdate } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { conditionIs } from '../kube/conditions.ts';
import { isNotFound } from '../kube/error.ts';
import { planRollout, type RolloutNode, type RolloutPlan } from './plan.ts';
import { parseRules, poolOf, rulesConfigMap } from './rules.ts';

/** How the rollout of one OS image stands. */
export interface RolloutProgress {
  readonly total: number;
  readonly plan: RolloutPlan;
  /** Whether every node runs the image; never where there is none, since then nobody has taken it. */
  readonly completed: boolean;
  /** What of the rules cannot be read, in words. */
  readonly problems: readonly string[];
}

/**
 * Tells the nodes whose turn it is which OS image they should boot, and reads how far all of them are. What it
 * decides by is in the API, so that it can be called again at any time, by anybody who leads.
 *
 * @param image the OS image, by digest.
 */
export async function rollOut(client: KubeClient, image: string): Promise<RolloutProgress> {
  const progress = await lookAtRollout(client, image);
  const { NodeUpdate: kind } = client.kinds;
  for (const name of progress.plan.assign) await assign(client, kind, name, image);
  return progress;
}

/** How far the nodes are, and whose turn it would be: nobody is told anything. */
export async function lookAtRollout(client: KubeClient, image: string): Promise<RolloutProgress> {
  const { kinds } = client;
  const { configNamespace } = names(client.platform);
  const [nodes, updates, groups, rules] = await Promise.all([
    client.all(kinds.Node),
    client.all(kinds.NodeUpdate),
    client.list(kinds.FleetLockGroup),
    client.tryGet(kinds.ConfigMap, rulesConfigMap, configNamespace),
  ]);
  const byName = new Map(updates.map((update) => [update.metadata.name, update]));
  const { pools, problems } = parseRules(rules?.data);
  const plan = planRollout(
    image,
    nodes.map((node) => rolloutNode(node, byName.get(node.metadata.name))),
    { pools, lockHolds: groups.items.length > 0 },
  );
  const total = nodes.length;
  const completed = total > 0 && plan.waiting.length === 0;
  return { total, plan, completed, problems: total > 0 ? problems : [...problems, noNodes] };
}

const noNodes = 'a node to take the OS image of the release: none has registered';

async function assign(
  client: KubeClient,
  kind: KindRef<NodeUpdate>,
  name: string,
  osImage: string,
): Promise<void> {
  try {
    await client.patch(kind, name, { spec: { osImage } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await client.create(kind, { metadata: { name }, spec: { osImage } });
  }
}

function rolloutNode(node: Node, update: NodeUpdate | undefined): RolloutNode {
  const { status } = update ?? {};
  const degraded = status?.conditions?.find((each) => each.type === 'Degraded' && each.status === 'True');
  return {
    name: node.metadata.name,
    controlPlane: node.metadata.labels?.[labels.controlPlane] !== undefined,
    pool: poolOf(node.metadata.labels ?? {}),
    ready: conditionIs(node.status?.conditions, 'Ready', 'True'),
    usesLock: status?.strategies?.includes('fleet_lock') === true,
    wantedImage: update?.spec.osImage,
    bootedImage: status?.booted?.image,
    stagedImage: status?.staged?.image,
    state: status?.state,
    failure: degraded === undefined ? undefined : degraded.message || degraded.reason,
    holds: status?.holds ?? [],
  };
}
