import { annotations } from '../api/names.ts';
import { isSluiceError, messageOf, SluiceError } from '../errors/error.ts';
import { parseWindow } from '../finalize/config-keys.ts';
import { closesAt, isOpen, nextOpening, type Schedule, type WeeklyWindow } from '../finalize/weekly.ts';
import { parseDuration } from '../gates/duration.ts';

/** What a person has said about a pool, by its annotations. */
export type PoolWish =
  /** Nothing: the pool is not ours to pause. */
  | { readonly kind: 'free' }
  | {
      readonly kind: 'windows';
      readonly windows: readonly WeeklyWindow[];
      readonly timeZone: string;
      /** Unix milliseconds until which a person has opened a window. */
      readonly until?: number;
    }
  | { readonly kind: 'unreadable'; readonly problem: string };

/** A pool without windows of the week: it opens only for a person. */
const onlyByHand = 'none';
const textMax = 2000;
const windowsMax = 64;

/** Reads the annotations of a MachineConfigPool. */
export function poolWish(given: Readonly<Record<string, string>> | undefined): PoolWish {
  const words = given?.[annotations.windows];
  const timeZone = given?.[annotations.windowTimeZone];
  const until = given?.[annotations.windowUntil];
  if (words === undefined) {
    const lost = until !== undefined ? annotations.windowUntil : annotations.windowTimeZone;
    if (until === undefined && timeZone === undefined) return { kind: 'free' };
    return { kind: 'unreadable', problem: `${lost} says nothing without ${annotations.windows}` };
  }
  try {
    return {
      kind: 'windows',
      windows: parseWeek(words),
      timeZone: timeZone ?? 'UTC',
      ...(until === undefined ? {} : { until: parseUntil(until) }),
    };
  } catch (error) {
    if (!isSluiceError(error, 'InputInvalid')) throw error;
    return { kind: 'unreadable', problem: messageOf(error) };
  }
}

/** `Sat 22:00 4h; Mon,Tue 01:00 90m`, or `none`. Errors: InputInvalid. */
function parseWeek(text: string): readonly WeeklyWindow[] {
  if (text.trim() === onlyByHand) return [];
  if (text.length > textMax) throw invalid(annotations.windows, `it is longer than ${textMax} characters`);
  const found = text.split(';').flatMap((entry) => {
    const [days, start, length, ...more] = entry.trim().split(/\s+/);
    if (length === undefined || more.length > 0) {
      throw invalid(annotations.windows, `'${entry.trim()}' is no window such as 'Sat 22:00 4h'`);
    }
    const minutes = parseDuration(length) / 60_000;
    const parsed = parseWindow({ days: days?.split(','), start_time: start, length_minutes: minutes });
    if (typeof parsed === 'string') throw invalid(annotations.windows, `'${entry.trim()}': ${parsed}`);
    // As long as it says: elsewhere the minute in which a window ends still belongs to it.
    return parsed.map((each) => ({ ...each, lengthMinutes: each.lengthMinutes - 1 }));
  });
  if (found.length > windowsMax) throw invalid(annotations.windows, `it has more than ${windowsMax} windows`);
  return found;
}

function parseUntil(text: string): number {
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(text);
  const at = isTime ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw invalid(annotations.windowUntil, `'${text.slice(0, 64)}' is no time such as 2026-12-01T04:00:00Z`);
}

function invalid(annotation: string, message: string): SluiceError {
  return new SluiceError('InputInvalid', `${annotation}: ${message}`);
}

/** When the pool may be updated, as it stands now. */
export type PoolWindow =
  | { readonly kind: 'free' }
  /** `at`: when that changes, Unix milliseconds; absent: never, unless a person changes something. */
  | { readonly kind: 'open' | 'closed'; readonly at?: number };

/** Pure. @param until see PoolWish. */
export function poolWindow(schedule: Schedule, until: number | undefined, now: number): PoolWindow {
  const isWeekly = isOpen(schedule, now);
  const isByHand = until !== undefined && now < until;
  if (!isWeekly && !isByHand) {
    const opens = nextOpening(schedule, now);
    return { kind: 'closed', ...(opens === undefined ? {} : { at: opens }) };
  }
  const closes = isWeekly ? closesAt(schedule, now) : now;
  if (closes === undefined) return { kind: 'open' };
  return { kind: 'open', at: isByHand ? Math.max(closes, until) : closes };
}

export interface PoolState {
  readonly paused: boolean;
  /** It carries our mark: what paused it is a closed window, no person. */
  readonly isOurs: boolean;
}

export type PoolAct = 'pause' | 'release' | 'keep';

/**
 * What is done with a pool. A pause without our mark is a person's and stays; ours ends with the window's opening, or
 * when its windows are taken away. Pure.
 */
export function poolAct(window: PoolWindow, { paused, isOurs }: PoolState): PoolAct {
  if (window.kind === 'closed') return paused ? 'keep' : 'pause';
  return isOurs ? 'release' : 'keep';
}
