import { isDeepStrictEqual } from 'node:util';
import type { Node } from '../api/core.ts';
import { SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { nodeInformer } from '../kube/node.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { lockIdOf } from './identity.ts';

/** Which Node an id of the protocol belongs to, and how that Node stands. */
export interface NodeDirectory {
  /** Undefined where no Node matches. */
  find(id: string): Promise<Node | undefined>;
  get(name: string): Node | undefined;
  list(): readonly Node[];
}

/** Milliseconds that a request waits for the first list of Nodes. */
const syncMs = 5_000;

/** A fleet without a cluster has no Nodes: nothing is drained, and health is what clients say of themselves. */
export const noNodes: NodeDirectory = {
  find: async () => undefined,
  get: () => undefined,
  list: () => [],
};

/** Nodes as the API knows them, by the ids that zincati and poseidon/fleetlock would know them by. */
export function createNodeDirectory(
  client: KubeClient,
  options: { readonly logger: Logger; readonly clock: Clock; readonly signal: AbortSignal },
): NodeDirectory {
  const informer = nodeInformer(client, options);
  const byId = new Map<string, string>();
  informer.onChange((change) => {
    const { type, object } = change;
    // A kubelet writes its Node every five minutes; who it is changes with its host.
    if (type === 'updated' && isDeepStrictEqual(namesIn(object), namesIn(change.previous))) return;
    for (const id of idsOf(object)) {
      if (type !== 'deleted') byId.set(id, object.metadata.name);
      else if (byId.get(id) === object.metadata.name) byId.delete(id);
    }
  });
  informer.start();
  return {
    async find(id) {
      if (!informer.hasSynced()) await Promise.race([informer.synced(), options.clock.sleep(syncMs)]);
      if (!informer.hasSynced()) throw new SluiceError('Unreachable', 'the Nodes are not known yet');
      const name = byId.get(plain(id));
      return name === undefined ? undefined : informer.get(name);
    },
    get: (name) => informer.get(name),
    list: () => informer.list(),
  };
}

const plain = (id: string) => id.replaceAll('-', '').toLowerCase();

const namesIn = ({ status }: Node) => [status?.nodeInfo?.machineID, status?.nodeInfo?.systemUUID];

/** A Node is known by its machine id or its system UUID, as it is or as zincati derives it from them. */
export function idsOf(node: Node): string[] {
  return namesIn(node).flatMap((id) => {
    if (id === undefined || id === '') return [];
    try {
      return [lockIdOf(id), plain(id)];
    } catch {
      return [plain(id)];
    }
  });
}
