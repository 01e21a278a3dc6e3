import type { OperatorCondition } from '../api/core.ts';
import { removeCondition, setCondition } from '../kube/conditions.ts';
import type { Obstacle } from './obstacles.ts';
import { type PassWait, slowOperators, waitText } from './wait.ts';

/** How the request in spec stands. */
export type RequestView =
  /** Nothing is asked for that is not there already. */
  | { readonly state: 'none' }
  | { readonly state: 'invalid'; readonly message: string }
  /** Not accepted. `waiting`: nothing is known against it yet; `pending`: not everything is known yet. */
  | {
      readonly state: 'refused';
      readonly waiting: boolean;
      readonly pending: boolean;
      readonly reason: string;
      readonly message: string;
    };

/** How the release that the cluster goes to stands. */
export interface UpdateView {
  readonly version: string;
  readonly image: string;
  readonly completed: boolean;
  /** Whether some release was ever completed. */
  readonly everCompleted: boolean;
  readonly done: number;
  readonly total: number;
  readonly waiting: readonly PassWait[];
  /** Components that stay enabled though spec does not ask for them; sorted. */
  readonly implicit: readonly string[];
}

const waitsShown = 5;

/** The conditions of ClusterVersion: a pure picture of how request and update stand. */
export function updateConditions(
  before: readonly OperatorCondition[] | undefined,
  view: {
    readonly request: RequestView;
    readonly update: UpdateView;
    readonly upgradeable: readonly Obstacle[];
  },
  now: number,
): OperatorCondition[] {
  const { request, update, upgradeable } = view;
  let conditions = [...(before ?? [])];
  const set = (type: string, status: 'True' | 'False' | 'Unknown', reason: string, message: string) => {
    conditions = setCondition(conditions, { type, status, reason, message }, now);
  };
  const accepted = acceptedCondition(request, update);
  set('ReleaseAccepted', accepted.status, accepted.reason, accepted.message);
  const { everCompleted, version } = update;
  if (everCompleted) set('Available', 'True', 'ReleaseApplied', availableMessage(update));
  else
    set(
      'Available',
      'False',
      'FirstRelease',
      `${version}, the first release here, is not applied to its end yet`,
    );
  const failing = failingOf(update, now);
  set('Failing', failing.status, failing.reason, failing.message);
  const progress = progressOf(request, update, failing, now);
  set('Progressing', update.completed ? 'False' : 'True', progress.reason, progress.message);
  const capabilities = implicitOf(update.implicit);
  set('ImplicitlyEnabledCapabilities', capabilities.status, capabilities.reason, capabilities.message);
  if (request.state === 'invalid') set('Invalid', 'True', 'InvalidClusterVersion', request.message);
  else conditions = removeCondition(conditions, 'Invalid');
  const obstacle = upgradeableOf(upgradeable);
  if (obstacle === undefined) conditions = removeCondition(conditions, 'Upgradeable');
  else set('Upgradeable', 'False', obstacle.reason, obstacle.message);
  return conditions;
}

function acceptedCondition(request: RequestView, update: UpdateView) {
  if (request.state === 'refused') {
    const { waiting, reason, message } = request;
    return { status: waiting ? 'Unknown' : 'False', reason, message } as const;
  }
  // A request that was taken back leaves nothing of its refusal.
  const message = `Payload loaded version="${update.version}" image="${update.image}"`;
  return { status: 'True', reason: 'PayloadLoaded', message } as const;
}

function availableMessage(update: UpdateView): string {
  return update.completed
    ? `Done applying ${update.version}`
    : `Applying ${update.version}; a release was applied to its end before`;
}

interface Failing {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

function failingOf({ waiting, version }: UpdateView, now: number): Failing {
  const failures = waiting.filter((wait) => wait.failing !== undefined);
  const [first] = failures;
  if (first?.failing !== undefined) {
    const reasons = new Set(failures.map((failure) => failure.failing));
    return {
      status: 'True',
      reason: reasons.size === 1 ? first.failing : 'MultipleErrors',
      message: bounded(failures.map((failure) => waitText(failure, now))),
    };
  }
  const slow = slowOperators(waiting, now);
  if (slow.length > 0) {
    const message = `waiting on ${slow.join(', ')} for longer than expected; nobody says that something is wrong`;
    return { status: 'Unknown', reason: 'SlowClusterOperator', message };
  }
  return { status: 'False', reason: 'AsExpected', message: `Nothing fails at ${version}` };
}

function progressOf(request: RequestView, update: UpdateView, failing: Failing, now: number) {
  const { version, done, total } = update;
  const fails = failing.status === 'True';
  if (update.completed) {
    if (request.state === 'invalid') {
      return {
        reason: 'InvalidClusterVersion',
        message: `Stopped at ${version}: the cluster version is invalid`,
      };
    }
    return fails
      ? { reason: failing.reason, message: `Error while reconciling ${version}: ${failing.message}` }
      : { reason: 'Completed', message: `Cluster version is ${version}` };
  }
  if (fails) return { reason: failing.reason, message: `Unable to apply ${version}: ${failing.message}` };
  const percent = total === 0 ? 0 : Math.floor((done / total) * 100);
  const waits = update.waiting.map((wait) => waitText(wait, now));
  const waitingOn = waits.length === 0 ? '' : `, waiting on ${bounded(waits)}`;
  return {
    reason: failing.status === 'Unknown' ? failing.reason : 'Applying',
    message: `Working towards ${version}: ${done} of ${total} done (${percent}% complete)${waitingOn}`,
  };
}

function bounded(lines: readonly string[]): string {
  const more = lines.length - waitsShown;
  return more > 0 ? `${lines.slice(0, waitsShown).join('; ')} and ${more} more` : lines.join('; ');
}

function implicitOf(implicit: readonly string[]) {
  if (implicit.length === 0) {
    return {
      status: 'False',
      reason: 'AsExpected',
      message: 'Every enabled capability is asked for',
    } as const;
  }
  return {
    status: 'True',
    reason: 'CapabilitiesImplicitlyEnabled',
    message: `These capabilities are there and cannot be taken away: ${implicit.join(', ')}`,
  } as const;
}

/** A name that a condition's reason may not be falls back to a general one. */
function upgradeableOf(obstacles: readonly Obstacle[]): { reason: string; message: string } | undefined {
  const [first] = obstacles;
  if (first === undefined) return undefined;
  if (obstacles.length > 1) {
    const list = obstacles.map((obstacle) => `* ${obstacle.message}`).join('\n');
    return {
      reason: 'MultipleReasons',
      message: `Cluster should not be updated between minor versions:\n${list}`,
    };
  }
  const fits = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/.test(first.name);
  return { reason: fits ? first.name : 'RiskNameNotCompatibleWithReasonProperty', message: first.message };
}
