import type { ClusterVersion } from '../api/resources.ts';
import { messageOf } from '../errors/error.ts';
import type { Release, Releases } from '../gates/target.ts';
import { tryVersion } from '../gates/version.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Payload } from '../payload/payload.ts';
import { rollOut } from '../rollout/rollout.ts';
import { applyPass, createOperators, type PassResult, reasonOf } from './apply.ts';
import { type InclusionRule, profileDefault } from './inclusion.ts';
import { type Block, planWalk } from './walk.ts';

/** What is noted of the release that is being applied. A restart loses it, and then applies again without effect. */
export interface ApplyNotes {
  readonly digest: string;
  readonly noted: Set<string>;
}

export interface ApplyContext {
  readonly client: KubeClient;
  readonly releases: Releases;
  readonly signal: AbortSignal;
  /** Id by which manifests exclude themselves; '' for none. */
  readonly excludeID: string;
}

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
  const { client, signal } = context;
  const image = osImageOf(release);
  const blocks = await blocksOf(context, clusterVersion, release);
  if ('failure' in blocks) return { completed: false, done: 0, total: 0, waiting: [blocks.failure] };
  if (notes.noted.size === 0) await createOperators(client, blocks.planned);
  const pass = await applyPass(client, blocks.planned, notes.noted, { signal });
  if (pass.waiting.length > 0 || image === undefined) {
    return { ...pass, completed: pass.waiting.length === 0 };
  }
  const { plan, total } = await rollOut(client, image);
  return {
    done: pass.done + plan.done.length,
    total: pass.total + total,
    waiting: plan.waiting.map(({ node, message }) => ({ message: `node ${node}: ${message}` })),
    completed: plan.waiting.length === 0,
  };
}

/** Keeps an applied release as it is: what somebody changed or deleted is set back. */
export async function keepApplied(
  context: ApplyContext,
  clusterVersion: ClusterVersion,
  release: Release,
): Promise<PassResult> {
  const blocks = await blocksOf(context, clusterVersion, release);
  if ('failure' in blocks) return { done: 0, total: 0, waiting: [blocks.failure] };
  return await applyPass(context.client, blocks.planned, new Set(), { signal: context.signal, walkOn: true });
}

async function blocksOf(
  { releases, excludeID }: ApplyContext,
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
    capabilities: clusterVersion.spec.capabilities,
    overrides: clusterVersion.spec.overrides ?? [],
  };
  return { planned: planWalk(payload.manifests, rule) };
}

/** The OS image of a release by digest; undefined where it has none: then its nodes do not reboot. */
function osImageOf({ bundle }: Release): string | undefined {
  const { os, images } = bundle.document;
  if (os === undefined) return undefined;
  const source = images.find((image) => image.name === os.tag)?.source;
  return source === undefined ? undefined : `${source}@${os.digest}`;
}
