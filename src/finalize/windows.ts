import { rfc3339 } from '../observe/clock.ts';
import { type ClockEvidence, clockHold } from './clock-trust.ts';
import type { FinalizeConfig } from './config.ts';
import type { OsDeployment } from './driver.ts';
import type { Hold } from './hold.ts';
import { type MarkerLook, markerAllows } from './marker.ts';
import { closesAt, isOpen, jitterMs, nextOpening, openSince, type Schedule } from './weekly.ts';

/** What the strategies that know of time and permission rest on. */
export interface WindowFacts {
  readonly config: Pick<FinalizeConfig, 'strategies' | 'marker' | 'periodic'>;
  /** The windows of `periodic` in their zone; absent where that strategy is not in force. */
  readonly schedule?: Schedule;
  /** 0 to below 1: this node's own place in the jitter of a window. */
  readonly share: number;
  readonly marker: MarkerLook;
  readonly clock: ClockEvidence;
  readonly staged?: OsDeployment;
  readonly now: number;
}

export interface WindowVerdict {
  readonly holds: readonly Hold[];
  /** The permission rests on the marker: one that is for one reboot is used up by it. */
  readonly usesMarker: boolean;
  /** Unix milliseconds at which the permission ends, where that is known. */
  readonly endsAt?: number;
}

/**
 * The strategies `periodic` and `marker_file`. Both must allow where both are asked for; with the override, the
 * marker opens a window that is closed. Pure.
 */
export function judgeWindows(facts: WindowFacts): WindowVerdict {
  const { config, now } = facts;
  const look = judgeMarker(facts);
  const markerEnd =
    look.kind === 'allowed' && look.marker.notAfter !== undefined ? look.marker.notAfter * 1000 : undefined;
  const untrusted = clockHold(facts.clock);
  const holds: Hold[] = [];
  let usesMarker = false;
  const ends: number[] = [];
  let needsClock = false;
  const useMarker = () => {
    usesMarker = true;
    if (markerEnd !== undefined) {
      ends.push(markerEnd);
      needsClock = true;
    }
  };
  if (config.strategies.includes('periodic')) {
    const { schedule } = facts;
    const open = schedule !== undefined && isOpen(schedule, now);
    if (!open && config.marker.overridesWindow && look.kind === 'allowed') useMarker();
    else {
      needsClock = true;
      const hold = schedule === undefined ? noSchedule : periodicHold(schedule, facts);
      if (hold !== undefined) holds.push(hold);
      const closes = schedule === undefined ? undefined : closesAt(schedule, now);
      if (closes !== undefined) ends.push(closes);
    }
  }
  if (config.strategies.includes('marker_file')) {
    if (look.kind === 'allowed') useMarker();
    else holds.push({ gate: 'marker_file', reason: look.reason, message: look.message });
  }
  if (needsClock && untrusted !== undefined) holds.push(untrusted);
  return { holds, usesMarker, ...(ends.length === 0 ? {} : { endsAt: Math.min(...ends) }) };
}

const noSchedule: Hold = {
  gate: 'periodic',
  reason: 'NoSchedule',
  message: 'the windows of the strategy periodic are not known',
};

function judgeMarker({ marker, staged, now }: WindowFacts): MarkerLook {
  if (marker.kind === 'denied') return marker;
  const release = {
    ...(staged === undefined ? {} : { digest: staged.digest }),
    ...(staged?.version === undefined ? {} : { version: staged.version }),
  };
  return markerAllows(marker.marker, release, now);
}

/** Closed, or open so short a while that this node's turn in the jitter has not come. */
function periodicHold(schedule: Schedule, facts: WindowFacts): Hold | undefined {
  const { now } = facts;
  const opens = nextOpening(schedule, now);
  if (opens === undefined) return { ...noSchedule, reason: 'NeverOpens', message: 'no window ever opens' };
  const turn = turnAt(schedule, facts, opens);
  if (turn <= now) return undefined;
  return opens > now
    ? {
        gate: 'periodic',
        reason: 'WindowClosed',
        message: `the window opens at ${rfc3339(opens)} (${schedule.zone.name})`,
        opensAt: turn,
      }
    : {
        gate: 'periodic',
        reason: 'Jitter',
        message: `the window is open; this node's turn in it comes at ${rfc3339(turn)}`,
        opensAt: turn,
      };
}

/** When this node's turn comes in the window that is open at `at`. */
function turnAt(schedule: Schedule, { config, share }: WindowFacts, at: number): number {
  const open = openSince(schedule, at);
  if (open === undefined) return at;
  return Math.max(at, at - open.sinceMs + jitterMs(config.periodic.jitterMs, open.lengthMs, share));
}

/**
 * When this node could reboot at the earliest: not before every gate that knows its time has opened, and then not
 * before a window and this node's turn in it. Undefined where no gate knows a time: then only an event opens one.
 */
export function nextPossible(holds: readonly Hold[], facts: WindowFacts): number | undefined {
  const opens = holds.flatMap(({ opensAt }) => (opensAt === undefined ? [] : [opensAt]));
  if (opens.length === 0) return undefined;
  const latest = Math.max(facts.now, ...opens);
  if (facts.schedule === undefined || !holds.some(({ gate }) => gate === 'periodic')) return latest;
  const opening = nextOpening(facts.schedule, latest);
  return opening === undefined ? undefined : turnAt(facts.schedule, facts, opening);
}
