import type { Platform } from '../api/kinds.ts';
import { names } from '../api/names.ts';
import type { ClusterVersion } from '../api/resources.ts';
import { messageOf } from '../errors/error.ts';
import type { Release, Releases } from '../gates/target.ts';
import { tryVersion } from '../gates/version.ts';
import { hostPort } from '../http/client.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Payload } from '../payload/payload.ts';
import { profileDefault } from '../payload/profile.ts';
import { lookAtRollout, rollOut } from '../rollout/rollout.ts';
import { rolloutSummary } from '../rollout/summary.ts';
import { applyPass, createOperators, type PassResult, reasonOf, type WalkNotes } from './apply.ts';
import { capabilitiesOf } from './capabilities.ts';
import { readFeatures } from './features.ts';
import type { InclusionRule } from './inclusion.ts';
import { type PassWait, WaitTimes } from './wait.ts';
import { arrange, type Block, planWalk } from './walk.ts';

/** What is noted of the release that is being applied. A restart loses it, and then applies again without effect. */
export interface ApplyNotes extends WalkNotes {
  readonly digest: string;
}

/** @param toldBefore what the ClusterVersion says that is waited for: since when survives a restart in it. */
export function freshNotes(digest: string, toldBefore = ''): ApplyNotes {
  return { digest, noted: new Set(), times: new WaitTimes(toldBefore) };
}

export interface ApplyContext {
  readonly client: KubeClient;
  readonly releases: Releases;
  readonly signal: AbortSignal;
  /** Id by which manifests exclude themselves; '' for none. */
  readonly excludeID: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Chains that are walked at once; to keep what is there needs no hurry. */
const workersApplying = 8;
const workersReconciling = 2;
/** To a cluster that has nothing yet an error is no news: what it needs comes in the same walk. */
const initialErrorToleratedMs = 60_000;

/** How far a release is: manifests applied and nodes that run its OS image, together. */
export interface Progress extends PassResult {
  readonly completed: boolean;
}

/** Brings a release nearer to its end: the manifests in their order, then the operating system of the nodes. */
export async function advanceUpdate(
  context: ApplyContext,
  clusterVersion: ClusterVersion,
  release: Release,
  notes: ApplyNotes,
): Promise<Progress> {
  const { client, signal, now } = context;
  const image = osImageOf(release, client.platform);
  const blocks = await blocksOf(context, clusterVersion, release);
  if ('failure' in blocks) return { completed: false, done: 0, total: 0, waiting: [blocks.failure] };
  if (notes.noted.size === 0) await createOperators(client, blocks.planned);
  const isFirst = !(clusterVersion.status?.history ?? []).some((entry) => entry.state === 'Completed');
  const mode = isFirst ? 'initializing' : 'updating';
  const pass = await applyPass(client, arrange(blocks.planned, mode, 0), notes, {
    signal,
    now,
    workers: workersApplying,
    startedAt: Date.parse(clusterVersion.status?.history?.[0]?.startedTime ?? '') || 0,
    ...(isFirst ? { errorToleratedMs: initialErrorToleratedMs } : {}),
  });
  if (image === undefined) return { ...pass, completed: pass.waiting.length === 0 };
  if (pass.waiting.length > 0) {
    // The nodes count from the beginning, so that what is told never runs backwards when their turn comes.
    const { plan, total } = await lookAtRollout(client, image);
    return { ...pass, done: pass.done + plan.done.length, total: pass.total + total, completed: false };
  }
  const { plan, total, completed, problems } = await rollOut(client, image);
  const failed = plan.waiting.some((wait) => wait.cause === 'Failed');
  const waiting: PassWait[] = [...problems, ...rolloutSummary(plan.waiting)].map((message) => ({ message }));
  return {
    done: pass.done + plan.done.length,
    total: pass.total + total,
    waiting: failed ? waiting.map((wait) => ({ ...wait, failing: 'NodeUpdateFailed' })) : waiting,
    completed,
  };
}

/**
 * Keeps an applied release as it is: what somebody changed or deleted is set back.
 *
 * @param attempt counts the walks, so that each goes in another order.
 */
export async function keepApplied(
  context: ApplyContext,
  clusterVersion: ClusterVersion,
  release: Release,
  keep: { readonly attempt: number; readonly times: WaitTimes },
): Promise<PassResult> {
  const { client, signal, now } = context;
  const blocks = await blocksOf(context, clusterVersion, release);
  if ('failure' in blocks) return { done: 0, total: 0, waiting: [blocks.failure] };
  const notes = { noted: new Set<string>(), times: keep.times };
  const walk = arrange(blocks.planned, 'reconciling', keep.attempt);
  return await applyPass(client, walk, notes, { signal, now, workers: workersReconciling });
}

async function blocksOf(
  { client, releases, excludeID }: ApplyContext,
  clusterVersion: ClusterVersion,
  release: Release,
): Promise<{ planned: Block[] } | { failure: { message: string; failing: string } }> {
  let payload: Payload;
  try {
    payload = await releases.payload(release);
  } catch (error) {
    const failing =
      reasonOf(error) === 'UpdatePayloadIntegrity'
        ? 'UpdatePayloadIntegrity'
        : 'UpdatePayloadRetrievalFailed';
    return { failure: { message: `the payload cannot be read: ${messageOf(error)}`, failing } };
  }
  const [problem] = payload.problems;
  if (problem !== undefined) {
    const message = `the payload holds manifests that cannot be used: ${problem.file}: ${problem.problem}`;
    return { failure: { message, failing: 'UpdatePayloadResourceInvalid' } };
  }
  const rule: InclusionRule = {
    profile: profileDefault,
    excludeID,
    major: tryVersion(release.version)?.major ?? '',
    features: await readFeatures(client, release.version),
    isEnabled: capabilitiesOf(clusterVersion.spec.capabilities, clusterVersion.status?.capabilities)
      .isEnabled,
    overrides: clusterVersion.spec.overrides ?? [],
  };
  return { planned: planWalk(payload.manifests, rule) };
}

/**
 * The OS image of a release by digest, as every node's own registry serves it; undefined where it has none: then its
 * nodes do not reboot. Not by the payload's own name for it: a node's driver asks the registry of the node, which knows
 * the repositories of the bundle, not those of the origin.
 */
function osImageOf({ bundle }: Release, platform: Platform): string | undefined {
  const { os, images } = bundle.document;
  if (os === undefined) return undefined;
  const repository = images.find((image) => image.name === os.tag)?.repository;
  const { apiInt, registryPort } = names(platform);
  return repository === undefined
    ? undefined
    : `${hostPort(apiInt, registryPort)}/${repository}@${os.digest}`;
}
