import type { Digest } from '../oci/digest.ts';
import type { LoadedConfig } from './config.ts';
import type { OsStatus } from './driver.ts';
import type { LockAnswer, LockRequest } from './fleet-lock.ts';
import { type Hold, sortHolds } from './hold.ts';
import { type Users, usersHold } from './users.ts';
import { judgeWindows, type WindowFacts, type WindowVerdict } from './windows.ts';

/** The intent to reboot, on disk before it is acted on, so that any restart can go on or give back. */
export interface Intent {
  readonly image: string;
  readonly digest: Digest;
  /** The boot in which it was made; another one proves the reboot. */
  readonly bootID: string;
  /** `locking`: the slot is asked for or held. `finalizing`: the reboot was ordered. */
  readonly phase: 'locking' | 'finalizing';
  /** Where the slot is held, as it was asked for: configuration may change meanwhile. */
  readonly lock?: LockRequest;
  /** Unix milliseconds. */
  readonly since: number;
  /** How often the reboot was ordered in this boot. */
  readonly orders?: number;
}

export interface Wanted {
  readonly image: string;
  readonly digest: Digest;
}

/** Everything that one decision rests on. */
export interface Facts extends Omit<WindowFacts, 'config' | 'staged'> {
  readonly config: LoadedConfig;
  readonly desired?: Wanted & { readonly version?: string };
  readonly os: OsStatus;
  readonly bootID: string;
  readonly intent?: Intent;
  /** How often this digest was booted in vain. */
  readonly failures: number;
  /** How often in a row it could not be staged. */
  readonly stagingFailures?: number;
  /** The digest that was booted for the present wish; not to run it any more is a rollback. */
  readonly confirmed?: Digest;
  /** What this agent staged itself; anything else was staged by somebody else. */
  readonly stagedByUs?: Digest;
  /** Inhibitors, hooks, a young host, another agent: where a reboot is one of the host. */
  readonly blockers: readonly Hold[];
  readonly users: Users;
  /** Unix seconds at which the window of the cluster ends whose marker is gone already. */
  readonly closedWindow?: number;
  /** Since when users are the only thing on this node that holds it. */
  readonly graceSince?: number;
  /** The lock server's last answer to this intent; absent: not asked yet. */
  readonly lock?: LockAnswer;
  /** What staging or finalizing met last, while it is not tried again yet. */
  readonly setback?: Hold;
}

/** The next step of a node. A closed union: one function acts on each. */
export type Step =
  | { readonly kind: 'idle' }
  | { readonly kind: 'confirm'; readonly intent: Intent; readonly booted: boolean }
  /** `failed`: the reboot was ordered and never came. */
  | { readonly kind: 'release'; readonly intent: Intent; readonly failed: boolean }
  | ({ readonly kind: 'stage' } & Wanted)
  | { readonly kind: 'hold'; readonly holds: readonly Hold[] }
  | ({ readonly kind: 'lock' } & Wanted)
  | ({ readonly kind: 'finalize'; readonly consumeMarker: boolean } & Wanted);

/** A release that was booted in vain this often is not tried again. */
export const failuresMax = 2;
/** A reboot that was ordered this long ago and did not happen is ordered again. */
export const rebootMsMax = 30 * 60_000;
/** So often; then the slot goes back, and it counts as a boot in vain. */
export const ordersMax = 2;

/**
 * What a node does next. Pure: the policy of finalization, in its order. Local gates come before the slot, so that
 * a held node takes none; everything is asked again with the slot in hand, before the reboot.
 */
export function decide(facts: Facts): Step {
  const { intent, os } = facts;
  if (intent !== undefined && intent.bootID !== facts.bootID) {
    // The boot id proves that there was a reboot; the booted image says whether it was into the update.
    if (intent.phase === 'locking') return { kind: 'release', intent, failed: false };
    return { kind: 'confirm', intent, booted: os.booted?.digest === intent.digest };
  }
  const wanted = wantedOf(facts);
  if (intent !== undefined && intent.digest !== wanted?.digest) {
    return { kind: 'release', intent, failed: false };
  }
  if (wanted === undefined) return { kind: 'idle' };
  const stop = notToBeTried(wanted, facts);
  if (stop !== undefined) return { kind: 'hold', holds: [stop] };
  if (os.staged?.digest !== wanted.digest) return staging(wanted, facts);

  const ordered = intent?.phase === 'finalizing' ? intent : undefined;
  if (ordered !== undefined && facts.now - ordered.since < rebootMsMax) {
    return { kind: 'hold', holds: [rebooting(ordered)] };
  }
  const { holds, windows } = judgeNode(facts);
  if (holds.length > 0) {
    if (intent !== undefined) return { kind: 'release', intent, failed: ordered !== undefined };
    return { kind: 'hold', holds };
  }
  if (ordered !== undefined && (ordered.orders ?? 1) >= ordersMax) {
    return { kind: 'release', intent: ordered, failed: true };
  }
  if (facts.config.config.strategies.includes('fleet_lock')) {
    if (intent === undefined || facts.lock === undefined) return { kind: 'lock', ...wanted };
    if (facts.lock.kind !== 'granted') return { kind: 'hold', holds: [lockHold(facts.lock)] };
  }
  const consumeMarker = windows.usesMarker && facts.marker.kind === 'allowed' && facts.marker.marker.once;
  return { kind: 'finalize', ...wanted, consumeMarker };
}

/** What should be booted and is not; undefined where all is as it should be. */
function wantedOf({ config, desired, os }: Facts): Wanted | undefined {
  const wish = config.config.mode === 'finalize-only' ? os.staged : desired;
  return wish === undefined || wish.digest === os.booted?.digest
    ? undefined
    : { image: wish.image, digest: wish.digest };
}

/** What speaks against this release itself, whatever the time. */
function notToBeTried({ digest }: Wanted, facts: Facts): Hold | undefined {
  if (facts.failures >= failuresMax) {
    return {
      gate: 'staged',
      reason: 'FailedToBoot',
      message: `${digest} was booted ${facts.failures} times in vain and is not tried again`,
    };
  }
  if (facts.confirmed === digest) {
    return {
      gate: 'staged',
      reason: 'RolledBack',
      message: `${digest} had been booted and was rolled back: that is respected until another release is asked for`,
    };
  }
  return undefined;
}

function staging(wanted: Wanted, facts: Facts): Step {
  const { staged } = facts.os;
  const stops = [...configHolds(facts), ...facts.blockers.filter(({ gate }) => gate === 'config')];
  if (staged !== undefined && staged.digest !== facts.stagedByUs) {
    stops.push({
      gate: 'staged',
      reason: 'StagedByOther',
      message: `${staged.version ?? staged.digest} was staged by somebody else, and is left alone; wanted is ${wanted.digest}`,
    });
  }
  if (facts.setback !== undefined) stops.push(facts.setback);
  if (facts.intent?.phase === 'locking' && stops.length > 0) {
    return { kind: 'release', intent: facts.intent, failed: false };
  }
  return stops.length > 0 ? { kind: 'hold', holds: sortHolds(stops) } : { kind: 'stage', ...wanted };
}

/** The gates that only this node knows of, all of them: a person wants to see every one. */
export function judgeNode(facts: Facts): { holds: readonly Hold[]; windows: WindowVerdict } {
  const { config } = facts.config;
  const windows = judgeWindows(windowFacts(facts));
  const holds = [...configHolds(facts), ...windows.holds, ...facts.blockers];
  if (config.mode === 'stage') {
    holds.push({ gate: 'config', reason: 'StageOnly', message: 'updates.mode is "stage": it never reboots' });
  }
  const users = usersHold(facts.users, facts.graceSince, windows.endsAt, facts.now);
  if (users !== undefined) holds.push(users);
  if (facts.setback !== undefined) holds.push(facts.setback);
  return { holds: sortHolds(holds), windows };
}

/** The part of the facts that the windows rest on. */
export function windowFacts(facts: Facts): WindowFacts {
  const { staged } = facts.os;
  return { ...facts, config: facts.config.config, ...(staged === undefined ? {} : { staged }) };
}

function configHolds({ config: { config, problems } }: Facts): Hold[] {
  if (problems.length > 0) {
    return problems.map((problem) => ({
      gate: 'config',
      reason: 'ConfigInvalid',
      message: `the configuration is broken, so nothing is finalized: ${problem}`,
    }));
  }
  return config.enabled ? [] : [{ gate: 'config', reason: 'Disabled', message: 'updates.enabled is false' }];
}

function lockHold(answer: Exclude<LockAnswer, { kind: 'granted' }>): Hold {
  return { gate: 'fleet_lock', reason: answer.reason, message: answer.message };
}

function rebooting(intent: Intent): Hold {
  const opensAt = intent.since + rebootMsMax;
  return { gate: 'finalize', reason: 'Rebooting', message: 'the reboot was ordered', opensAt };
}
