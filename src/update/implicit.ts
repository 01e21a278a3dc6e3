import { names } from '../api/names.ts';
import type { UpdatePreflight } from '../api/resources.ts';
import { messageOf } from '../errors/error.ts';
import type { GateFacts, PreflightFact } from '../gates/facts.ts';
import { preflightFact } from '../gates/gather.ts';
import { type Known, known, unknown } from '../gates/known.ts';
import { staleness } from '../gates/preflight.ts';
import { implicitLabel, implicitName, runAnnotations, runIDBytes, runIDOf } from '../gates/run-request.ts';
import type { Release } from '../gates/target.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists } from '../kube/error.ts';

/** While a preflight stands against an update that waits, it looks again this often (OCPBUGS-5505). */
const blockedRerunMs = 2 * 60_000;

export interface ImplicitFacts {
  readonly now: number;
  readonly source: GateFacts['source'];
  readonly target: GateFacts['target'];
}

/**
 * Whether the report must be made anew before it can let the update through: it is no evidence for what is asked,
 * or it stands against the update and is older than what is worth waiting for.
 */
export function needsRun(report: PreflightFact, facts: ImplicitFacts): boolean {
  if (report.verdict === 'Running' && report.targetDigest !== '') return false;
  if (staleness(facts, report) !== undefined) return true;
  if (report.verdict === 'Passed' || report.finishedAt === undefined) return false;
  return facts.now - report.finishedAt >= blockedRerunMs;
}

export interface ImplicitPreflight {
  readonly report: Known<PreflightFact | undefined>;
  /** Names that its spec accepts. */
  readonly accepted: readonly string[];
  /** The object as it was read. */
  readonly object?: UpdatePreflight;
}

/**
 * Sees to it that there is a preflight for this release, shared with whoever else asks for the same: creates it, or
 * asks for another run where the report does not hold any more. Runs for other releases that an update had asked
 * for are given up.
 */
export async function ensurePreflight(
  client: KubeClient,
  release: Release,
  facts: ImplicitFacts,
  random: (bytes: number) => Uint8Array,
): Promise<ImplicitPreflight> {
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const kind = client.kinds.UpdatePreflight;
  try {
    await cancelOthers(client, implicitName(release.digest));
    const object = await getOrCreate(client, release);
    const accepted = (object.spec.acceptedRisks ?? []).map((risk) => risk.name);
    const report = preflightFact(object);
    const pending = object.metadata.annotations?.[runAnnotations.request] !== undefined;
    if (report !== undefined && !pending && needsRun(report, facts)) {
      const annotations = { [runAnnotations.request]: runIDOf(random(runIDBytes)) };
      await client.patch(kind, object.metadata.name, { metadata: { annotations } }, { namespace });
    }
    return { report: known(report), accepted, object };
  } catch (error) {
    return { report: unknown(`the preflight cannot be asked for: ${messageOf(error)}`), accepted: [] };
  }
}

async function getOrCreate(client: KubeClient, release: Release): Promise<UpdatePreflight> {
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const kind = client.kinds.UpdatePreflight;
  const name = implicitName(release.digest);
  const standing = await client.tryGet(kind, name, namespace);
  if (standing !== undefined) return standing;
  try {
    return await client.create(kind, {
      metadata: { name, namespace, labels: { [implicitLabel]: 'true' } },
      spec: { image: release.image, version: release.version },
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return await client.get(kind, name, namespace);
  }
}

/** A retarget gives up the run for the release before: its report is kept, as superseded. */
async function cancelOthers(client: KubeClient, keep: string): Promise<void> {
  const { clusterVersionNamespace: namespace } = names(client.platform);
  const kind = client.kinds.UpdatePreflight;
  const others = await client.list(kind, { namespace, labelSelector: implicitLabel });
  for (const { metadata, status } of others.items) {
    if (metadata.name === keep || status?.verdict !== 'Running' || status.runID === undefined) continue;
    const annotations = { [runAnnotations.cancel]: status.runID };
    await client.patch(kind, metadata.name, { metadata: { annotations } }, { namespace });
  }
}
