/** A window that comes every week, by the wall clock. The minute in which it ends still belongs to it, as in zincati. */
export interface WeeklyWindow {
  /** Minutes since Monday 00:00, 0 to 10079. */
  readonly startMinute: number;
  /** 1 to 10080; a window may reach over the end of the week. */
  readonly lengthMinutes: number;
}

/** The wall clock of one time zone. Times are Unix milliseconds. */
export interface ZoneClock {
  readonly name: string;
  /** What is added to Unix time to read the wall clock. */
  offsetMs(at: number): number;
  /** The next moment at which the offset changes; undefined where none is known. */
  nextChange(at: number): number | undefined;
}

export interface Schedule {
  readonly windows: readonly WeeklyWindow[];
  readonly zone: ZoneClock;
}

export const minutesOfWeek = 7 * 24 * 60;
const minuteMs = 60_000;
/** Changes of the offset that a search looks through; more than any zone has in ten years. */
const changesMax = 64;

/** Minutes since Monday 00:00 of a wall clock time. 1970-01-01 was a Thursday. */
function minuteOfWeek(wallMs: number): number {
  return modulo(Math.floor(wallMs / minuteMs) + 3 * 24 * 60, minutesOfWeek);
}

/** Minutes since the window began, where it is open at this minute of the week. */
function minutesInto(window: WeeklyWindow, minute: number): number | undefined {
  const since = modulo(minute - window.startMinute, minutesOfWeek);
  return since <= window.lengthMinutes ? since : undefined;
}

export function isOpen(schedule: Schedule, now: number): boolean {
  return openAtMinute(schedule, minuteOfWeek(now + schedule.zone.offsetMs(now)));
}

function openAtMinute({ windows }: Schedule, minute: number): boolean {
  return windows.some((window) => minutesInto(window, minute) !== undefined);
}

/**
 * The first moment from `now` on at which a window is open; `now` itself where one is. Between two changes of the
 * offset the wall clock runs evenly, so one step is enough for each such stretch, whatever daylight saving does.
 */
export function nextOpening(schedule: Schedule, now: number): number | undefined {
  const { windows, zone } = schedule;
  if (windows.length === 0) return undefined;
  let at = now;
  for (let changes = 0; changes < changesMax; changes += 1) {
    const offset = zone.offsetMs(at);
    const wall = at + offset;
    const minute = minuteOfWeek(wall);
    if (openAtMinute(schedule, minute)) return at;
    const wait = Math.min(...windows.map(({ startMinute }) => modulo(startMinute - minute, minutesOfWeek)));
    const opens = Math.floor(wall / minuteMs) * minuteMs + wait * minuteMs - offset;
    const change = zone.nextChange(at);
    if (change === undefined || opens < change) return opens;
    at = change;
  }
  return undefined;
}

/** When an open window closes; undefined where none is open or where it never closes. */
export function closesAt(schedule: Schedule, now: number): number | undefined {
  const { windows, zone } = schedule;
  let at = now;
  const until = now + 2 * minutesOfWeek * minuteMs;
  while (at < until) {
    const wall = at + zone.offsetMs(at);
    const minute = minuteOfWeek(wall);
    const left = windows.flatMap((window) => {
      const into = minutesInto(window, minute);
      return into === undefined ? [] : [window.lengthMinutes + 1 - into];
    });
    if (left.length === 0) return at === now ? undefined : at;
    const closes = at + Math.max(...left) * minuteMs - modulo(wall, minuteMs);
    at = Math.min(closes, zone.nextChange(at) ?? closes);
  }
  return undefined;
}

/** How long the window has been open, and how long it is, in milliseconds; of several the one that began first. */
export function openSince(
  { windows, zone }: Schedule,
  now: number,
): { readonly sinceMs: number; readonly lengthMs: number } | undefined {
  const wall = now + zone.offsetMs(now);
  const found = windows.flatMap((window) => {
    const into = minutesInto(window, minuteOfWeek(wall));
    if (into === undefined) return [];
    const lengthMs = (window.lengthMinutes + 1) * minuteMs;
    return [{ sinceMs: into * minuteMs + modulo(wall, minuteMs), lengthMs }];
  });
  return found.sort((a, b) => b.sinceMs - a.sinceMs)[0];
}

/**
 * How long a node waits after the opening of a window, so that not all reboot in its first second: a
 * share of the limit, and of half the window, so that it fits into a short one.
 *
 * @param share 0 to below 1, the node's own.
 */
export function jitterMs(limitMs: number, lengthMs: number, share: number): number {
  return Math.floor(Math.min(limitMs, lengthMs / 2) * share);
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
