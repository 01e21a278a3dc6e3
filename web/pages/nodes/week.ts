import type { NodeUpdate, NodeUpdateStatusCalendar } from '../../../src/api/resources.ts';
import { openWindowOf } from '../../../src/api/window.ts';

/** A stretch of time, Unix milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Nodes that may reboot at the same times. */
export interface WeekRow {
  readonly kind: 'weekly' | 'opened' | 'anytime' | 'asked';
  readonly nodes: readonly string[];
  /** The zone in which its windows are written; undefined where there are none. */
  readonly timeZone: string | undefined;
  readonly spans: readonly Span[];
}

const dayMs = 24 * 3600_000;
const minuteMs = 60_000;
const days = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];
/** 1970-01-01 was a Thursday. */
const epochDay = 3;
const windowDaysMax = 7;

/** The nodes of a cluster by when they may reboot between two moments: opened windows first, then calendars. */
export function weekRows(updates: readonly NodeUpdate[], from: number, to: number, now: number): WeekRow[] {
  const groups = new Map<string, { row: Omit<WeekRow, 'nodes'>; nodes: string[] }>();
  const put = (key: string, node: string, row: () => Omit<WeekRow, 'nodes'>) => {
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { row: row(), nodes: [node] });
    else group.nodes.push(node);
  };
  for (const update of updates) {
    const { metadata, status } = update;
    const window = openWindowOf(update, now);
    if (window !== undefined) {
      const opened = Date.parse(window.notAfter);
      put(`0 ${opened}`, metadata.name, () => ({
        kind: 'opened',
        timeZone: undefined,
        spans: clip([{ from: now, to: opened }], from, to),
      }));
    }
    const { calendar, strategies = [] } = status ?? {};
    if (calendar !== undefined) {
      put(`1 ${JSON.stringify(calendar)}`, metadata.name, () => ({
        kind: 'weekly',
        timeZone: calendar.timeZone,
        spans: openings(calendar, from, to),
      }));
    } else if (strategies.includes('marker_file')) {
      put('2', metadata.name, () => ({ kind: 'asked', timeZone: undefined, spans: [] }));
    } else if (strategies.length > 0) {
      put('3', metadata.name, () => ({ kind: 'anytime', timeZone: undefined, spans: [{ from, to }] }));
    }
  }
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { row, nodes }]) => ({ ...row, nodes: nodes.sort() }));
}

/**
 * When weekly windows are open between two moments, joined where they touch. Windows are written by a wall clock, so
 * each is set by it on its own day: where the clock is put forward or back, a window moves and stretches with it.
 */
export function openings({ timeZone, windows }: NodeUpdateStatusCalendar, from: number, to: number): Span[] {
  const zone = zoneClock(timeZone);
  const spans: Span[] = [];
  const firstDay = Math.floor((from + zone(from)) / dayMs) - windowDaysMax;
  const lastDay = Math.floor((to + zone(to)) / dayMs);
  for (let day = firstDay; day <= lastDay; day += 1) {
    const name = days[(((day + epochDay) % 7) + 7) % 7];
    for (const window of windows) {
      if (window.day !== name) continue;
      const [hours = 0, minutes = 0] = window.start.split(':').map(Number);
      const wall = day * dayMs + (hours * 60 + minutes) * minuteMs;
      spans.push({ from: atWall(wall, zone), to: atWall(wall + window.minutes * minuteMs, zone) });
    }
  }
  return joined(clip(spans, from, to));
}

/** The first moment from `now` on at which one is open. */
export function nextOpening(calendar: NodeUpdateStatusCalendar, now: number): number | undefined {
  return openings(calendar, now, now + 2 * windowDaysMax * dayMs)[0]?.from;
}

/** The starts of the days between two moments, by the wall clock of a zone. */
export function dayStarts(timeZone: string, from: number, to: number): number[] {
  const zone = zoneClock(timeZone);
  const starts: number[] = [];
  const first = Math.floor((from + zone(from)) / dayMs);
  for (let day = first; ; day += 1) {
    const at = atWall(day * dayMs, zone);
    if (at >= to) return starts;
    starts.push(at);
  }
}

/** What is added to Unix time to read the wall clock, as a function of Unix time. */
type Zone = (at: number) => number;

function atWall(wall: number, zone: Zone): number {
  return wall - zone(wall - zone(wall));
}

const clocks = new Map<string, Zone>();

function zoneClock(timeZone: string): Zone {
  const known = clocks.get(timeZone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  const made: Zone = (at) => {
    const parts = Object.fromEntries(
      format.formatToParts(at).map(({ type, value }) => [type, Number(value)]),
    );
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute) - Math.floor(at / minuteMs) * minuteMs;
  };
  clocks.set(timeZone, made);
  return made;
}

function clip(spans: readonly Span[], from: number, to: number): Span[] {
  return spans
    .map((span) => ({ from: Math.max(span.from, from), to: Math.min(span.to, to) }))
    .filter((span) => span.from < span.to)
    .sort((a, b) => a.from - b.from);
}

function joined(spans: readonly Span[]): Span[] {
  const all: Span[] = [];
  for (const span of spans) {
    const last = all.at(-1);
    if (last !== undefined && span.from <= last.to)
      all[all.length - 1] = { from: last.from, to: Math.max(last.to, span.to) };
    else all.push(span);
  }
  return all;
}
