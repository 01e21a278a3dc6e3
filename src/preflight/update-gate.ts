import { names } from '../api/names.ts';
import type { UpdatePreflight } from '../api/resources.ts';
import { sourceOf } from '../gates/gather.ts';
import { passedDigests, passedUntil } from '../gates/passed.ts';
import type { KubeClient } from '../kube/client.ts';
import { runController, watchOf } from '../kube/controller.ts';
import { writePolicyFacts } from '../kube/policy-facts.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { knownBundles } from '../release/content.ts';

/** The parameter of the admission policy sluice-update-gate (deploy/openshift/60-update-gate.yaml). */
export interface GateData {
  /** Digests of payloads, parted by commas, sorted. */
  readonly digests: string;
  /** Versions that name exactly one of them, parted by commas, sorted. */
  readonly versions: string;
}

export interface GateFacts {
  readonly preflights: readonly UpdatePreflight[];
  /** The digest of the release that runs. */
  readonly source: string;
  /** Every release at hand: a version that several have names none. */
  readonly releases: readonly { readonly version: string; readonly payload: string }[];
  readonly now: number;
}

/**
 * The releases that may be asked for: those that `passedDigests` lets through. What is written here goes on to count
 * where Sluice is dead, so that a report is believed no further than the update itself would believe it. Pure.
 */
export function gateData({ preflights, source, releases, now }: GateFacts): GateData {
  const passed = new Map<string, string>();
  for (const preflight of preflights) {
    for (const digest of passedDigests([preflight], { now, source })) {
      passed.set(digest, preflight.status?.target?.version ?? '');
    }
  }
  const named = [...passed].filter(([digest, version]) => {
    const others = releases.filter((release) => release.version === version && release.payload !== digest);
    const twice = [...passed.values()].filter((each) => each === version).length > 1;
    return /^[0-9A-Za-z.+-]+$/.test(version) && others.length === 0 && !twice;
  });
  return {
    digests: [...passed.keys()].sort().join(','),
    versions: named
      .map(([, version]) => version)
      .sort()
      .join(','),
  };
}

/** Releases come and go, and a report grows too old, without anything changing that is watched. */
const lookMs = 30_000;

/** Keeps the parameter of the update gate until the signal aborts. */
export async function runUpdateGate(options: {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { client, clock, logger, signal } = options;
  const { kinds } = client;
  const { clusterVersionNamespace: namespace, clusterVersion, updateGate } = names(client.platform);
  const keysOf = () => [updateGate];

  async function reconcile(): Promise<{ requeueAfterMs: number }> {
    const version = await client.tryGet(kinds.ClusterVersion, clusterVersion);
    const { items: preflights } = await client.list(kinds.UpdatePreflight, { namespace });
    const source = version === undefined ? '' : sourceOf(version).digest;
    const releases = await knownBundles(client);
    const now = clock.now();
    const data = gateData({ preflights, source, releases, now });
    const outcome = await writePolicyFacts(client, updateGate, { ...data });
    if (outcome !== 'unchanged') logger.info({ ...data }, 'update gate');
    const ends = passedUntil(preflights, { now, source }) ?? Number.POSITIVE_INFINITY;
    return { requeueAfterMs: Math.min(lookMs, ends - now) };
  }

  await runController({
    name: 'update-gate',
    client,
    logger,
    signal,
    clock,
    initialKeys: [updateGate],
    watches: [
      watchOf(kinds.UpdatePreflight, { namespace, keysOf }),
      watchOf(kinds.ClusterVersion, { keysOf }),
      watchOf(kinds.PolicyFacts, { fieldSelector: `metadata.name=${updateGate}`, keysOf }),
    ],
    reconcile,
  });
}
