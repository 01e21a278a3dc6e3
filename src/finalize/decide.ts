import type { Digest } from '../oci/digest.ts';
import { type ClockEvidence, clockHold } from './clock-trust.ts';
import type { LoadedConfig } from './config.ts';
import type { OsStatus } from './driver.ts';
import type { LockAnswer, LockRequest } from './fleet-lock.ts';
import type { Hold } from './hold.ts';
import { type MarkerLook, markerAllows } from './marker.ts';

/** The intent to reboot, on disk before it is acted on, so that any restart can go on or give back. */
export interface Intent {
  readonly image: string;
  readonly digest: Digest;
  /** The boot in which it was made; another one proves the reboot. */
  readonly bootID: string;
  /** `locking`: the slot is asked for or held. `finalizing`: the reboot was ordered. */
  readonly phase: 'locking' | 'finalizing';
  /** Where the slot is held, as it was asked for: configuration may change meanwhile (case B22). */
  readonly lock?: LockRequest;
  /** Unix milliseconds. */
  readonly since: number;
}

/** Everything that one decision rests on. */
export interface Facts {
  readonly config: LoadedConfig;
  readonly desired?: { readonly image: string; readonly digest: Digest };
  readonly os: OsStatus;
  readonly bootID: string;
  readonly intent?: Intent;
  /** How often this digest was booted in vain. */
  readonly failures: number;
  readonly marker: MarkerLook;
  readonly clock: ClockEvidence;
  /** Inhibitors and users, where a reboot is one of the host. */
  readonly blockers: readonly Hold[];
  /** The lock server's last answer to this intent; absent: not asked yet. */
  readonly lock?: LockAnswer;
  readonly now: number;
}

/** The next step of a node. A closed union: one function acts on each. */
export type Step =
  | { readonly kind: 'idle' }
  | { readonly kind: 'confirm'; readonly intent: Intent; readonly booted: boolean }
  | { readonly kind: 'release'; readonly intent: Intent }
  | { readonly kind: 'stage'; readonly image: string; readonly digest: Digest }
  | { readonly kind: 'hold'; readonly holds: readonly Hold[] }
  | { readonly kind: 'lock'; readonly image: string; readonly digest: Digest }
  | { readonly kind: 'finalize'; readonly digest: Digest; readonly consumeMarker: boolean };

/** A release that was booted in vain this often is not tried again (design §10). */
export const failuresMax = 2;
/** A reboot that was ordered this long ago and did not happen is ordered again (case B50). */
export const rebootMsMax = 30 * 60_000;

/**
 * What a node does next. Pure: the policy of finalization, in its order. Local gates come before the slot, so that
 * a held node takes none (case B20); everything is asked again with the slot in hand, before the reboot.
 */
export function decide(facts: Facts): Step {
  const { intent, desired, os } = facts;
  if (intent !== undefined && intent.bootID !== facts.bootID) {
    // The boot id proves that there was a reboot; the booted image says whether it was into the update.
    const asked = intent.phase === 'finalizing';
    if (asked) return { kind: 'confirm', intent, booted: os.booted?.digest === intent.digest };
    return { kind: 'release', intent };
  }
  const wanted = desired !== undefined && os.booted?.digest !== desired.digest ? desired : undefined;
  if (intent !== undefined && intent.digest !== wanted?.digest) return { kind: 'release', intent };
  if (wanted === undefined) return { kind: 'idle' };
  if (facts.failures >= failuresMax)
    return { kind: 'hold', holds: [failedHold(wanted.digest, facts.failures)] };
  if (os.staged?.digest !== wanted.digest) return { kind: 'stage', ...wanted };

  const local = localHolds(facts);
  if (local.length > 0) {
    if (intent?.phase === 'locking') return { kind: 'release', intent };
    return { kind: 'hold', holds: local };
  }
  const { config } = facts.config;
  if (config.strategies.includes('fleet_lock')) {
    if (intent === undefined || facts.lock === undefined) return { kind: 'lock', ...wanted };
    if (facts.lock.kind !== 'granted') return { kind: 'hold', holds: [lockHold(facts.lock)] };
  }
  if (intent?.phase === 'finalizing' && facts.now - intent.since < rebootMsMax) {
    return {
      kind: 'hold',
      holds: [{ gate: 'finalize', reason: 'Rebooting', message: 'the reboot was ordered' }],
    };
  }
  const consumeMarker = facts.marker.kind === 'allowed' && facts.marker.marker.once;
  return { kind: 'finalize', digest: wanted.digest, consumeMarker };
}

/** The gates that only this node knows of, all of them, in order: a person wants to see every one. */
function localHolds(facts: Facts): Hold[] {
  const { config, problems } = facts.config;
  const holds: Hold[] = problems.map((problem) => ({
    gate: 'config',
    reason: 'ConfigInvalid',
    message: `the configuration is broken, so nothing is finalized: ${problem}`,
  }));
  if (problems.length === 0 && !config.enabled) {
    holds.push({ gate: 'config', reason: 'Disabled', message: 'updates.enabled is false' });
  }
  if (config.strategies.includes('marker_file')) holds.push(...markerHolds(facts));
  holds.push(...facts.blockers);
  return holds;
}

function markerHolds(facts: Facts): Hold[] {
  const { staged } = facts.os;
  const look =
    facts.marker.kind === 'allowed'
      ? markerAllows(
          facts.marker.marker,
          {
            ...(staged === undefined ? {} : { digest: staged.digest }),
            ...(staged?.version === undefined ? {} : { version: staged.version }),
          },
          facts.now,
        )
      : facts.marker;
  if (look.kind === 'denied') return [{ gate: 'marker_file', reason: look.reason, message: look.message }];
  const timed = look.marker.notAfter !== undefined;
  const clock = timed ? clockHold(facts.clock) : undefined;
  return clock === undefined ? [] : [clock];
}

function lockHold(answer: Exclude<LockAnswer, { kind: 'granted' }>): Hold {
  return { gate: 'fleet_lock', reason: answer.reason, message: answer.message };
}

function failedHold(digest: Digest, failures: number): Hold {
  return {
    gate: 'staged',
    reason: 'FailedToBoot',
    message: `${digest} was booted ${failures} times in vain and is not tried again`,
  };
}
