import { names } from '../api/names.ts';
import type { ClusterVersion } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import { newestFirst } from '../gates/version.ts';
import type { KubeClient } from '../kube/client.ts';
import { waitFor } from '../kube/wait.ts';
import type { NamedRelease } from '../preflight/request.ts';
import { createStepView, stepOf } from './upgrade-progress.ts';
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
  | { readonly end: 'accepted'; readonly version: ClusterVersion }
  | {
      readonly end: 'refused';
      readonly version: ClusterVersion;
      readonly untrusted: boolean;
      readonly message: string;
    };

const judgedMs = 35 * 60_000;
const completedMs = 7 * 24 * 3_600_000;

/** Waits until a request is let through or refused, and shows on standard error what it waits for. Errors: Timeout; what the signal was aborted with. */
export async function untilJudged(
  client: KubeClient,
  asked: ClusterVersion,
  release: NamedRelease,
  signal: AbortSignal,
): Promise<UpdateEnd> {
  const { digest } = release;
  const view = createStepView();
  const what = 'the request to be judged';
  const version = await follow(client, { timeoutMs: judgedMs, what, signal }, (each) => {
    if (isGoingTo(each, digest)) return true;
    const accepted = conditionOf(each, 'ReleaseAccepted');
    // What was said of an earlier request is no news of this one.
    if (accepted?.status === 'Unknown') view.show(stepOf('judging', wordsOf(accepted.message ?? '')));
    return (each.status?.observedGeneration ?? 0) >= (asked.metadata.generation ?? 0);
  });
  view.end();
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

/**
 * Waits until the update is completed and shows on standard error how far it is. Errors: Timeout, and Conflict where
 * the cluster is sent to another release meanwhile.
 */
export async function untilCompleted(
  client: KubeClient,
  release: NamedRelease,
  signal: AbortSignal,
): Promise<ClusterVersion> {
  const { digest } = release;
  const label = release.version ?? digest.slice(0, digestCharsShown);
  const view = createStepView();
  const what = `the update to ${label} to be completed`;
  const version = await follow(client, { timeoutMs: completedMs, what, signal }, (each) => {
    if (!isGoingTo(each, digest) || each.status?.history?.[0]?.state === 'Completed') return true;
    const progressing = conditionOf(each, 'Progressing');
    // Until the first pass it still tells of the release before.
    if (progressing?.status === 'True') view.show(stepOf(label, progressing.message ?? ''));
    return false;
  });
  view.end();
  if (!isGoingTo(version, digest)) throw sentElsewhere(version, label);
  return version;
}

/** Without the version and the image, which whoever has asked knows. */
function wordsOf(message: string): string {
  return (
    message.replace(
      /^(?:Looking at|Retrieving and verifying payload) version="[^"]*" image="[^"]*":? ?/,
      '',
    ) || message
  );
}

const digestCharsShown = 19;

function sentElsewhere({ status }: ClusterVersion, label: string): SluiceError {
  const other = status?.desired.version || status?.desired.image || 'another release';
  return new SluiceError(
    'Conflict',
    `somebody has sent the cluster to ${other} before ${label} was completed`,
    {
      next: 'See how that goes: sluice upgrade status.',
    },
  );
}

function isGoingTo(version: ClusterVersion, digest: string): boolean {
  return version.status?.desired.image.endsWith(`@${digest}`) === true;
}

async function follow(
  client: KubeClient,
  options: { readonly timeoutMs: number; readonly what: string; readonly signal: AbortSignal },
  holds: (version: ClusterVersion) => boolean,
): Promise<ClusterVersion> {
  const { clusterVersion } = names(client.platform);
  const version = await waitFor(
    client,
    client.kinds.ClusterVersion,
    clusterVersion,
    (each) => each === undefined || holds(each),
    options,
  );
  if (version === undefined) {
    throw new SluiceError('NotFound', 'the ClusterVersion was deleted', {
      next: 'The controller makes it again: see how the cluster stands then: sluice upgrade status.',
    });
  }
  return version;
}
