import type { AnyObject, Node, PodDisruptionBudget } from '../api/core.ts';
import { annotations } from '../api/names.ts';
import { conditionIs } from '../kube/conditions.ts';
import type {
  BackupFact,
  BudgetFact,
  ClockFact,
  DeprecatedUse,
  InstalledOperator,
  PoolFact,
  SigningRequestFact,
} from './cluster-facts.ts';

/** Objects of others as facts: what they lack or hold in another shape is never an error here. */
type Loose = Record<string, unknown>;

interface LooseCondition {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
}

export function budgetFact({ metadata, status }: PodDisruptionBudget): BudgetFact {
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    disruptionsAllowed: status?.disruptionsAllowed ?? 0,
    currentHealthy: status?.currentHealthy ?? 0,
    expectedPods: status?.expectedPods ?? 0,
  };
}

/** MachineConfigPool. */
export function poolFact(object: AnyObject): PoolFact {
  const degraded = conditions(object).find(
    (each) => /^(?:Node|Render)?Degraded$/.test(each.type ?? '') && each.status === 'True',
  );
  return {
    name: object.metadata.name,
    ...(record(object.spec).paused === true ? { paused: pausedBy(object) } : {}),
    ...(degraded === undefined ? {} : { degraded: degraded.message || degraded.reason || 'no reason' }),
  };
}

/** Our mark tells a closed window from a person, as the controller of the windows reads it (rollout/pool-windows.ts). */
function pausedBy({ metadata }: AnyObject): 'person' | 'window' {
  return metadata.annotations?.[annotations.pausedBy] === undefined ? 'person' : 'window';
}

/** CertificateSigningRequest: pending while nobody has approved, denied or failed it. */
export function requestFact(object: AnyObject): SigningRequestFact {
  const answered = conditions(object).some((each) =>
    ['Approved', 'Denied', 'Failed'].includes(each.type ?? ''),
  );
  return {
    name: object.metadata.name,
    signer: String(record(object.spec).signerName ?? ''),
    createdAt: Date.parse(object.metadata.creationTimestamp ?? '') || 0,
    pending: !answered,
  };
}

/** APIRequestCount: only what somebody asked for in the last day, and what goes, is a use. */
export function requestUse(object: AnyObject): DeprecatedUse[] {
  const status = record(object.status);
  const removedIn = status.removedInRelease;
  if (typeof removedIn !== 'string' || removedIn === '' || !(Number(status.requestCount) > 0)) return [];
  const users = new Set<string>();
  for (const hour of array(status.last24h)) {
    for (const node of array(record(hour).byNode)) {
      for (const user of array(record(node).byUser)) {
        const name = record(user).username;
        if (typeof name === 'string') users.add(name);
      }
    }
  }
  return [{ api: object.metadata.name, removedIn, users: [...users].sort() }];
}

/** `apiserver_requested_deprecated_apis` of a kube-apiserver's metrics. */
export function deprecatedMetrics(text: string): DeprecatedUse[] {
  const uses = new Map<string, DeprecatedUse>();
  for (const match of text.matchAll(/^apiserver_requested_deprecated_apis\{([^}]*)\} ([0-9.e+]+)/gm)) {
    const labels = new Map(
      [...(match[1] ?? '').matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]),
    );
    const removedIn = labels.get('removed_release') ?? '';
    if (removedIn === '' || !(Number(match[2]) > 0)) continue;
    const group = labels.get('group') ?? '';
    const api = [labels.get('resource'), labels.get('version'), group]
      .filter((part) => part !== '')
      .join('.');
    uses.set(api, { api, removedIn, users: [] });
  }
  return [...uses.values()];
}

/** Etcd of operator.openshift.io: what its conditions say against it. */
export function troublesOf(object: AnyObject): string[] {
  return conditions(object)
    .filter(
      (each) =>
        (/Degraded$/.test(each.type ?? '') && each.status === 'True') ||
        (/^EtcdMembersAvailable$/.test(each.type ?? '') && each.status === 'False'),
    )
    .map((each) => `${each.type}: ${each.message || each.reason || 'no reason'}`);
}

/** The newest backup of those that a cluster shows: EtcdBackups and labelled CronJobs. */
export function backupFact(objects: readonly AnyObject[]): BackupFact | undefined {
  let newest: BackupFact | undefined;
  for (const object of objects) {
    const { name, namespace } = object.metadata;
    const completed = conditions(object).find(
      (each) => each.type === 'BackupCompleted' && each.status === 'True',
    );
    const text =
      object.kind === 'CronJob'
        ? record(object.status).lastSuccessfulTime
        : (completed as { lastTransitionTime?: string } | undefined)?.lastTransitionTime;
    const at = typeof text === 'string' ? Date.parse(text) : Number.NaN;
    const fact = {
      name: `${object.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`,
      at: Number.isNaN(at) ? undefined : at,
    };
    if (newest === undefined || (fact.at ?? -1) > (newest.at ?? -1)) newest = fact;
  }
  return newest;
}

/** ClusterServiceVersion: its properties are JSON in an annotation. */
export function olmFact({ metadata }: AnyObject): InstalledOperator {
  const base = { namespace: metadata.namespace ?? '', name: metadata.name };
  const text = metadata.annotations?.['olm.properties'];
  if (text === undefined || text === '') return { ...base, maxOpenShiftVersions: [] };
  try {
    const properties = array(JSON.parse(text));
    const limits = properties.map(record).filter((each) => each.type === 'olm.maxOpenShiftVersion');
    return { ...base, maxOpenShiftVersions: limits.map((each) => each.value) };
  } catch {
    // What cannot be read may hold a limit: it is judged as one that cannot be read.
    return { ...base, maxOpenShiftVersions: [text.slice(0, 40)] };
  }
}

function conditions(object: AnyObject): LooseCondition[] {
  return array(record(object.status).conditions).map(record) as LooseCondition[];
}

function record(value: unknown): Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Loose) : {};
}

function array(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Milliseconds of silence after which a heartbeat of a ready node tells of a clock that is behind. */
const heartbeatMs = 60_000;

/**
 * What the heartbeats of the nodes tell of their clocks; a node without a heartbeat is there too, as one of which
 * nothing is known. Undefined where there is no node.
 *
 * @param now milliseconds since the epoch.
 */
export function clockFacts(
  leases: readonly { metadata: { name: string }; spec?: { renewTime?: string } }[],
  nodes: readonly Node[],
  now: number,
): ClockFact[] | undefined {
  const renewals = new Map(leases.map(({ metadata, spec }) => [metadata.name, spec?.renewTime]));
  const clocks = nodes.map(({ metadata, status }) => {
    const renewed = Date.parse(renewals.get(metadata.name) ?? '');
    if (Number.isNaN(renewed)) return { node: metadata.name, aheadMs: undefined };
    const aheadMs = renewed - now;
    const ready = conditionIs(status?.conditions, 'Ready', 'True');
    // A heartbeat is always a little old; only that of a node which is well tells of its clock.
    if (aheadMs < -heartbeatMs) return { node: metadata.name, aheadMs: ready ? aheadMs : undefined };
    return { node: metadata.name, aheadMs: Math.max(0, aheadMs) };
  });
  return clocks.length === 0 ? undefined : clocks;
}
