import { isDeepStrictEqual } from 'node:util';
import type { ClusterVersion } from '../api/resources.ts';
import { isSluiceError, messageOf } from '../errors/error.ts';
import { digestPart } from '../gates/gather.ts';
import type { BundleClaim, Release, Releases } from '../gates/target.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { type Digest, isDigest } from '../oci/digest.ts';
import { describeSigns, firstRelease, signsOf } from './first.ts';
import { begunStatus, unacceptedStatus } from './status.ts';

export interface InstallOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The payload, by digest, that a cluster without a history is installed with; absent: what spec.desiredUpdate asks for. */
  readonly initialRelease?: string;
}

/**
 * Begins the release of a cluster that has no history: the one that it is installed with, or, where only the record
 * was lost, the one that runs. Its signature is the only gate: nothing changes by it but what is new or was mended.
 */
export async function install(
  { client, clock, initialRelease, logger }: InstallOptions,
  releases: Releases,
  claims: readonly BundleClaim[],
  clusterVersion: ClusterVersion,
): Promise<ClusterVersion> {
  const { kinds } = client;
  const first = initialRelease ?? wished(clusterVersion, claims);
  const digest = digestPart(first);
  if (!isDigest(digest)) return clusterVersion;
  const refuse = async (reason: string, message: string): Promise<ClusterVersion> => {
    const status = unacceptedStatus(clusterVersion, first, { reason, message }, clock.now());
    if (isDeepStrictEqual(status, clusterVersion.status)) return clusterVersion;
    return await client.updateStatus(kinds.ClusterVersion, { ...clusterVersion, status });
  };
  const signs = signsOf((await client.list(kinds.ClusterOperator)).items, await client.all(kinds.NodeUpdate));
  try {
    const release = firstRelease(await atHand(releases, claims, digest), signs);
    if (release === undefined) {
      return await refuse(
        'RetrievePayload',
        `the history of this cluster is gone, and no release at hand is the one that runs: ${describeSigns(signs)}. Attach media of the release that runs, or restore the ClusterVersion`,
      );
    }
    const status = begunStatus(clusterVersion, release, { verified: true }, clock.now());
    logger.info({ version: release.version, digest: release.digest }, 'first release accepted');
    return await client.updateStatus(kinds.ClusterVersion, { ...clusterVersion, status });
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    // Nothing is wrong with it: nodes that have just begun have not told yet what they hold.
    const isComing = error.code === 'NotFound' && !claims.some(({ payload }) => payload === digest);
    const words = `waiting for a node to tell that it holds the first release, in its store or on attached media: ${digest}`;
    return await refuse('RetrievePayload', isComing ? words : messageOf(error));
  }
}

/**
 * The release that a person asks for first, where none came with the installation: by its image, or by a version that
 * is at hand exactly once. '' where nothing is asked for.
 */
function wished({ spec }: ClusterVersion, claims: readonly BundleClaim[]): string {
  const { image = '', version = '' } = spec.desiredUpdate ?? {};
  if (image !== '' || version === '') return image;
  const payloads = new Set(claims.filter((claim) => claim.version === version).map(({ payload }) => payload));
  const [only] = payloads;
  return only === undefined || payloads.size > 1 ? '' : `release@${only}`;
}

/** Verified releases that may be the running one, the initial first. Errors: those of the initial, where it is alone. */
async function atHand(
  releases: Releases,
  claims: readonly BundleClaim[],
  initial: Digest,
): Promise<Release[]> {
  const payloads = new Set([initial, ...claims.map((claim) => claim.payload)]);
  const found: Release[] = [];
  let failure: unknown;
  for (const payload of payloads) {
    try {
      found.push(await releases.byPayload(payload, claims));
    } catch (error) {
      if (!isSluiceError(error)) throw error;
      failure ??= error;
    }
  }
  if (found.length === 0 && failure !== undefined) throw failure;
  return found;
}
