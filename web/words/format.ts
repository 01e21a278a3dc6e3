import { words } from './english.ts';

/** One unit for people, here and on the command line. */
export { humanBytes as formatBytes } from '../../src/observe/bytes.ts';

/** A span as a person says it: `42 s`, `5 min`, `3 h 20 min`, `2 d 4 h`. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return words.time.seconds(seconds);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return words.time.minutes(minutes);
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return words.time.hours(hours, minutes % 60);
  return words.time.days(Math.floor(hours / 24), hours % 24);
}

/** How long ago, or in how long. */
export function formatRelative(at: number, now: number): string {
  const ms = now - at;
  if (Math.abs(ms) < 2_000) return words.time.now;
  return ms > 0 ? words.time.ago(formatSpan(ms)) : words.time.in(formatSpan(-ms));
}

/** The exact time in the viewer's own zone, and in UTC. */
export function formatExact(at: number): string {
  const date = new Date(at);
  const local = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' }).format(date);
  return `${local} (${date.toISOString().slice(0, 19)}Z)`;
}

/** A day of a week by a zone's clock: `Mon`, `30 Nov`. */
export function formatDay(at: number, timeZone: string): { readonly weekday: string; readonly date: string } {
  const format = (parts: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en-GB', { timeZone, ...parts }).format(at);
  return { weekday: format({ weekday: 'short' }), date: format({ day: 'numeric', month: 'short' }) };
}

/** A moment of a week by a zone's clock: `Mon 22:30`. */
export function formatMoment(at: number, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(at);
}
