import { names } from '../api/names.ts';
import type { ClusterVersion } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import { newestFirst } from '../gates/version.ts';
import type { KubeClient } from '../kube/client.ts';
import { waitFor } from '../kube/wait.ts';
import { note } from './output.ts';
import { conditionOf } from './upgrade-view.ts';

export async function readClusterVersion(client: KubeClient): Promise<ClusterVersion> {
  const { clusterVersion } = names(client.platform);
  const version = await client.tryGet(client.kinds.ClusterVersion, clusterVersion);
  if (version !== undefined) return version;
  throw new SluiceError('NotFound', 'the cluster has no ClusterVersion', {
    next: 'Is this the cluster that Sluice updates? sluice controller creates it.',
  });
}

/** The newest release that may be gone to. Errors: NotFound. */
export function latestUpdate(version: ClusterVersion): string {
  const [latest] = (version.status?.availableUpdates ?? []).map((update) => update.version).sort(newestFirst);
  if (latest !== undefined) return latest;
  throw new SluiceError(
    'NotFound',
    `no update is available from ${version.status?.desired.version ?? 'here'}`,
    {
      next: 'Attach media with a newer release: sluice media attach.',
    },
  );
}

export type UpdateEnd =
  | { readonly end: 'completed' | 'accepted'; readonly version: ClusterVersion }
  | {
      readonly end: 'refused';
      readonly version: ClusterVersion;
      readonly untrusted: boolean;
      readonly message: string;
    };

const judgedMs = 35 * 60_000;
const completedMs = 7 * 24 * 3_600_000;

/** Waits until a request is let through or refused, and tells on standard error what it waits for. Errors: Timeout. */
export async function untilJudged(
  client: KubeClient,
  asked: ClusterVersion,
  digest: string,
): Promise<UpdateEnd> {
  const tell = teller();
  const version = await follow(client, judgedMs, 'the request to be judged', (each) => {
    if (isGoingTo(each, digest)) return true;
    const accepted = conditionOf(each, 'ReleaseAccepted');
    // What was said of an earlier request is no news of this one.
    if (accepted?.status === 'Unknown') tell(accepted.message);
    return (each.status?.observedGeneration ?? 0) >= (asked.metadata.generation ?? 0);
  });
  if (isGoingTo(version, digest)) return { end: 'accepted', version };
  const invalid = conditionOf(version, 'Invalid');
  const refusal = invalid?.status === 'True' ? invalid : conditionOf(version, 'ReleaseAccepted');
  return {
    end: 'refused',
    version,
    untrusted: refusal?.reason === 'RetrievePayload',
    message: refusal?.message ?? 'the request was refused',
  };
}

/** Waits until the update is completed; what it says on its way goes to standard error. Errors: Timeout. */
export async function untilCompleted(client: KubeClient, digest: string): Promise<UpdateEnd> {
  const tell = teller();
  const version = await follow(client, completedMs, 'the update to be completed', (each) => {
    tell(conditionOf(each, 'Progressing')?.message);
    return isGoingTo(each, digest) && each.status?.history?.[0]?.state === 'Completed';
  });
  return { end: 'completed', version };
}

function isGoingTo(version: ClusterVersion, digest: string): boolean {
  return version.status?.desired.image.endsWith(`@${digest}`) === true;
}

async function follow(
  client: KubeClient,
  timeoutMs: number,
  what: string,
  holds: (version: ClusterVersion) => boolean,
): Promise<ClusterVersion> {
  const { clusterVersion } = names(client.platform);
  const version = await waitFor(
    client,
    client.kinds.ClusterVersion,
    clusterVersion,
    (each) => each === undefined || holds(each),
    { timeoutMs, what },
  );
  if (version === undefined) throw new SluiceError('NotFound', 'the ClusterVersion was deleted');
  return version;
}

/** Tells each message once. */
function teller(): (message: string | undefined) => void {
  let told = '';
  return (message) => {
    if (message === undefined || message === '' || message === told) return;
    told = message;
    note(message);
  };
}
