import { names } from '../api/names.ts';
import { openBundle } from '../bundle/bundle.ts';
import { SluiceError } from '../errors/error.ts';
import { graphOf } from '../graph/graph.ts';
import { readReleases } from '../graph/releases.ts';
import type { KubeClient } from '../kube/client.ts';
import { type Digest, isDigest } from '../oci/digest.ts';
import { clusterContent, knownBundles, type RegistryIdentity } from '../release/content.ts';
import { freeableBytes } from '../release/freeable.ts';
import { readerIdentity } from '../release/reader.ts';
import { trustedKeys } from '../release/trusted-keys.ts';
import type { BundleAnswer, GraphAnswer } from './answers.ts';

/**
 * What only the content itself tells: bundles, what removing one would free, the graph of versions. Read from the
 * nodes' registries under the person's own identity, each time: signatures first.
 */
export interface Contents {
  /** Errors: NotFound, SignatureUntrusted, Unreachable and others of `openBundle`. */
  bundle(digest: string): Promise<BundleAnswer>;
  freeable(digest: string): Promise<{ readonly bytes: number }>;
  graph(): Promise<GraphAnswer>;
}

/** Opens the registries, calls, and closes them again. */
export function createContents(client: KubeClient, identity: RegistryIdentity): Contents {
  const reading = async <T>(read: (content: ReturnType<typeof clusterContent>) => Promise<T>): Promise<T> => {
    const content = clusterContent(client, await readerIdentity(client, identity));
    try {
      return await read(content);
    } finally {
      await content.close();
    }
  };
  return {
    bundle: (text) =>
      reading(async (content) => {
        const keys = await trustedKeys(client);
        const { digest, document, signedBy } = await openBundle(content, { digest: digestOf(text) }, keys);
        return { digest, document, signedBy };
      }),
    freeable: (text) =>
      reading(async (content) => {
        const digest = digestOf(text);
        const others = (await knownBundles(client))
          .filter((each) => each.heldBy.length > 0 && each.bundleDigest !== digest)
          .map((each) => each.bundleDigest);
        return { bytes: await freeableBytes(content, await trustedKeys(client), digest, others) };
      }),
    graph: () =>
      reading(async (content) => {
        const { clusterVersion } = names(client.platform);
        const [version, { releases, problems }] = await Promise.all([
          client.tryGet(client.kinds.ClusterVersion, clusterVersion),
          readReleases([content], await trustedKeys(client)),
        ]);
        const current = version?.status?.history?.find(({ state }) => state === 'Completed');
        const from = current?.version === undefined ? undefined : { version: current.version };
        return { graph: graphOf(releases, {}, from), problems };
      }),
  };
}

function digestOf(text: string): Digest {
  if (isDigest(text)) return text;
  throw new SluiceError('InputInvalid', 'that is no digest of a bundle');
}
