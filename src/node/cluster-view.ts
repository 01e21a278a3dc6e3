import { names } from '../api/names.ts';
import type { NodeUpdate } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { createInformer } from '../kube/informer.ts';
import { nodeInformer } from '../kube/node.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Digest } from '../oci/digest.ts';
import { pausedReleases } from '../release/pause.ts';
import { desiredReleases } from './cluster-words.ts';
import type { CopyingPeer } from './fan-out.ts';
import { copyingPeers, hasMedium, type PeerBundle, peerBundles } from './peers.ts';

/** What the cluster says that concerns one node's content, kept up to date by watching. */
export interface ClusterView {
  /** Begins; resolves when everything was read once, or when the signal aborts. */
  start(): Promise<void>;
  /** Names that the node should hold; undefined where nothing says so. */
  desired(): readonly string[] | undefined;
  /** Releases whose copies a person has paused. */
  paused(): ReadonlySet<string>;
  /** What other nodes can serve. */
  peers(): PeerBundle[];
  /** Other nodes that are to have a release and do not hold it whole yet. */
  copying(release: string, bundleDigest: Digest | undefined): CopyingPeer[];
  /** Whether others see a release on media of this node. */
  hasMedium(release: string, bundleDigest: Digest | undefined): boolean;
}

export function createClusterView(options: {
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Something changed that may decide something. */
  readonly onChange: () => void;
}): ClusterView {
  const { client, nodeName, logger, clock, signal, onChange } = options;
  const { kinds } = client;
  const { internalReleaseImage } = names(client.platform);
  const scope = { logger, clock, signal };
  const releaseImages = createInformer(client, kinds.InternalReleaseImage, scope);
  const nodeUpdates = createInformer(client, kinds.NodeUpdate, scope);
  const nodes = nodeInformer(client, scope);
  releaseImages.onChange(onChange);
  nodes.onChange(onChange);
  nodeUpdates.onChange((change) => {
    // Progress of others, and our own words coming back, decide nothing here.
    if (change.object.metadata.name === nodeName) return;
    if (change.type === 'updated' && offersOf(change.object) === offersOf(change.previous)) return;
    onChange();
  });
  return {
    async start() {
      const all = [releaseImages, nodeUpdates, nodes];
      for (const each of all) each.start();
      await Promise.race([Promise.all(all.map((each) => each.synced())), aborted(signal)]);
    },
    desired: () => desiredReleases(releaseImages.get(internalReleaseImage)),
    paused: () => pausedReleases(releaseImages.get(internalReleaseImage)),
    peers: () => peerBundles(nodeName, nodes.list(), nodeUpdates.list()),
    copying: (release, bundleDigest) =>
      copyingPeers(nodeName, release, bundleDigest, nodes.list(), nodeUpdates.list()),
    hasMedium: (release, bundleDigest) => hasMedium(nodeUpdates.get(nodeName)?.status, release, bundleDigest),
  };
}

function offersOf(update: NodeUpdate): string {
  return JSON.stringify([update.status?.store, update.status?.media]);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
