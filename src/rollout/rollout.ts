import type { Node } from '../api/core.ts';
import { labels } from '../api/names.ts';
import type { NodeUpdate } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists } from '../kube/error.ts';
import { planRollout, type RolloutNode, type RolloutPlan } from './plan.ts';

/** How the rollout of one OS image stands. */
export interface RolloutProgress {
  readonly total: number;
  readonly plan: RolloutPlan;
}

/**
 * Tells the nodes whose turn it is which OS image they should boot, and reads how far all of them are. What it
 * decides by is in the API, so that it can be called again at any time, by anybody who leads.
 *
 * @param image the OS image, by digest.
 */
export async function rollOut(client: KubeClient, image: string): Promise<RolloutProgress> {
  const { kinds } = client;
  const [nodes, updates] = await Promise.all([client.list(kinds.Node), client.list(kinds.NodeUpdate)]);
  const byName = new Map(updates.items.map((update) => [update.metadata.name, update]));
  const plan = planRollout(
    image,
    nodes.items.map((node) => rolloutNode(node, byName.get(node.metadata.name))),
  );
  for (const name of plan.assign) await assign(client, name, image, byName.has(name));
  return { total: nodes.items.length, plan };
}

async function assign(client: KubeClient, name: string, osImage: string, exists: boolean): Promise<void> {
  const kind = client.kinds.NodeUpdate;
  if (!exists) {
    try {
      await client.create(kind, { metadata: { name }, spec: { osImage } });
      return;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
  await client.patch(kind, name, { spec: { osImage } });
}

function rolloutNode(node: Node, update: NodeUpdate | undefined): RolloutNode {
  const { status } = update ?? {};
  return {
    name: node.metadata.name,
    controlPlane: node.metadata.labels?.[labels.controlPlane] !== undefined,
    ready: node.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true,
    wantedImage: update?.spec.osImage,
    bootedImage: status?.booted?.image,
    stagedImage: status?.staged?.image,
    state: status?.state,
    holds: status?.holds ?? [],
  };
}
