import { names } from '../api/names.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Reconciled } from '../kube/controller.ts';
import { type Clock, unixSeconds } from '../observe/clock.ts';
import type { Metrics } from '../observe/metrics.ts';

/** Milliseconds without an answer of the API after which a controller is not ready. */
const silentMsMax = 30_000;
/** Milliseconds that a scrape waits for the API. */
const readMs = 2_000;
const secondsBounds = [0.01, 0.1, 0.5, 2.5, 10, 60];

/** What the lease tells of this process: whether it leads, and whether the API answers it. */
export interface LeaseSight {
  reached(): void;
  leading(leads: boolean): void;
  /** Why this process should not be relied on. */
  problem(): string | undefined;
}

export function observeLease(metrics: Metrics, clock: Clock): LeaseSight {
  const leader = metrics.gauge('sluice_leader', '1 while this process leads.');
  leader.set({}, 0);
  let reachedMs = clock.now();
  return {
    reached: () => {
      reachedMs = clock.now();
    },
    leading: (leads: boolean) => leader.set({}, leads ? 1 : 0),
    problem: () => {
      const silentMs = clock.now() - reachedMs;
      return silentMs < silentMsMax
        ? undefined
        : `the API has not answered for ${Math.round(silentMs / 1000)} s`;
    },
  };
}

/** Counts what controllers do, by the controller. */
export function observeReconciles(metrics: Metrics): (facts: Reconciled) => void {
  const total = metrics.counter(
    'sluice_controller_reconciles_total',
    'Looks of a controller at one object, by how they ended.',
    ['controller', 'result'],
  );
  const took = metrics.histogram(
    'sluice_controller_reconcile_duration_seconds',
    'Time of one look.',
    secondsBounds,
    ['controller'],
  );
  return ({ controller, result, ms }) => {
    total.add({ controller, result });
    took.observe({ controller }, ms / 1000);
  };
}

type Condition = { readonly type: string; readonly status: string };

/** As Prometheus counts conditions elsewhere: 1 True, 0 False, -1 Unknown. */
function conditionValue({ status }: Condition): number {
  return status === 'True' ? 1 : status === 'False' ? 0 : -1;
}

/**
 * Tells how the cluster stands, from its objects, which are read at each scrape: three requests, whatever the number
 * of nodes. Labels are names of objects and the closed sets of their conditions.
 */
export function observeCluster(metrics: Metrics, client: KubeClient): void {
  const { kinds } = client;
  const { clusterVersion, internalReleaseImage } = names(client.platform);
  const version = metrics.gauge(
    'sluice_cluster_version_info',
    'The version that the cluster runs or goes to, and whether it is there; always 1.',
    ['version', 'state'],
  );
  const began = metrics.gauge(
    'sluice_cluster_update_start_timestamp_seconds',
    'When the update to it began, or ended where it did.',
  );
  const cluster = metrics.gauge(
    'sluice_cluster_condition',
    'Conditions of ClusterVersion: 1 True, 0 False, -1 Unknown.',
    ['type'],
  );
  const release = metrics.gauge(
    'sluice_release_condition',
    'Conditions of InternalReleaseImage and of each release in it: 1 True, 0 False, -1 Unknown.',
    ['release', 'type'],
  );
  const verdict = metrics.gauge(
    'sluice_preflight_verdict',
    'The verdict of each UpdatePreflight; always 1.',
    ['preflight', 'verdict'],
  );
  const ran = metrics.gauge(
    'sluice_preflight_end_timestamp_seconds',
    'When the last run of each UpdatePreflight ended.',
    ['preflight'],
  );
  metrics.beforeRender(async () => {
    const call = { timeoutMs: readMs };
    const [ofCluster, ofReleases, preflights] = await Promise.all([
      client.tryGet(kinds.ClusterVersion, clusterVersion, undefined, call),
      client.tryGet(kinds.InternalReleaseImage, internalReleaseImage, undefined, call),
      client.list(kinds.UpdatePreflight, call),
    ]);
    const [newest] = ofCluster?.status?.history ?? [];
    version.replace(
      newest === undefined ? [] : [[{ version: newest.version ?? '', state: newest.state }, 1]],
    );
    began.replace([[{}, unixSeconds(newest?.completionTime ?? newest?.startedTime)]]);
    const conditions = (ofCluster?.status?.conditions ?? []) as readonly Condition[];
    cluster.replace(conditions.map((each) => [{ type: each.type }, conditionValue(each)]));
    const whole = { name: '', conditions: ofReleases?.status?.conditions ?? [] };
    release.replace(
      [whole, ...(ofReleases?.status?.releases ?? [])].flatMap(({ name, conditions: each = [] }) =>
        each.map((one) => [{ release: name, type: one.type }, conditionValue(one)] as const),
      ),
    );
    verdict.replace(
      preflights.items.flatMap(({ metadata, status }) =>
        status?.verdict === undefined
          ? []
          : [[{ preflight: metadata.name, verdict: status.verdict }, 1] as const],
      ),
    );
    ran.replace(
      preflights.items.map(({ metadata, status }) => [
        { preflight: metadata.name },
        unixSeconds(status?.finishedAt),
      ]),
    );
  });
}
