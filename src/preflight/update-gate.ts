import { names } from '../api/names.ts';
import type { UpdatePreflight } from '../api/resources.ts';
import { preflightFact, sourceOf } from '../gates/gather.ts';
import { staleness } from '../gates/preflight.ts';
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
 * The releases that may be asked for: those whose last report passed, for this very digest and from the release that
 * runs now, and is not too old. Pure.
 */
export function gateData({ preflights, source, releases, now }: GateFacts): GateData {
  const passed = new Map<string, string>();
  for (const preflight of preflights) {
    const report = preflightFact(preflight);
    if (report === undefined || report.verdict !== 'Passed' || report.targetDigest === '') continue;
    const { targetDigest: digest, checkSet } = report;
    const target = { verified: true, digest, ...(checkSet === undefined ? {} : { checkSet }) } as const;
    if (staleness({ now, source: { digest: source }, target }, report) !== undefined) continue;
    passed.set(digest, preflight.status?.target?.version ?? '');
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

/** A report grows too old without anything changing in the API. */
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
    const data = gateData({
      preflights,
      source: version === undefined ? '' : sourceOf(version).digest,
      releases: await knownBundles(client),
      now: clock.now(),
    });
    const outcome = await writePolicyFacts(client, updateGate, { ...data });
    if (outcome !== 'unchanged') logger.info({ ...data }, 'update gate');
    return { requeueAfterMs: lookMs };
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
