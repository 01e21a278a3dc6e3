import { SluiceError } from '../errors/error.ts';
import { durationOption } from './connect.ts';
import { humanDuration } from './output.ts';

/** Unix milliseconds of `--until`. Errors: Usage, where it would end before anybody could use it. */
export function endOf(until: string, now: number): number {
  const next =
    'Give what is still to come: 90m, 2h, 1d, 17:00 (of this clock), or a time as 2026-12-01T04:00:00Z.';
  if (/^\d{4}-/.test(until)) {
    const at = Date.parse(until);
    if (Number.isNaN(at)) throw new SluiceError('Usage', `--until ${until} is not a time`, { next });
    if (at <= now) throw new SluiceError('Usage', `--until ${until} is in the past`, { next });
    return at;
  }
  if (until.includes(':')) {
    const at = nextAt(until, now);
    if (at === undefined) throw new SluiceError('Usage', `--until ${until} is not a time`, { next });
    return at;
  }
  const milliseconds = durationOption(until, 'or a time: 17:00, 2026-12-01T04:00:00Z');
  // Durations elsewhere have a least one; a window of none is a slip, not a wish for a second.
  if (!/[1-9]/.test(until)) {
    throw new SluiceError('Usage', `--until ${until}: the window would be closed at once`, {
      next: `${next} To close one: sluice window close.`,
    });
  }
  return now + milliseconds;
}

/** When the clock of this machine next shows this time, which may be tomorrow; undefined for what is none. */
function nextAt(text: string, now: number): number | undefined {
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hours === undefined || minutes === undefined) return undefined;
  const today = new Date(now);
  const on = (days: number) =>
    new Date(
      today.getFullYear(),
      today.getMonth(),
      today.getDate() + days,
      Number(hours),
      Number(minutes),
    ).getTime();
  return on(0) > now ? on(0) : on(1);
}

/** The end as it is told: where a time of the clock was given, also by that clock, since nodes may have another. */
export function endWords(until: string, end: number): string {
  const utc = `${new Date(end).toISOString().slice(0, 19)}Z`;
  if (!/^\d+:\d+$/.test(until)) return utc;
  const local = new Intl.DateTimeFormat('en-GB', {
    weekday: 'long',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
  });
  return `${utc} (${local.format(end)})`;
}

/** Longer than this, a window is hardly a maintenance any more. */
const usualWindowMs = 7 * 86_400_000;

/** What to say of a window that stays open for so long that it may be forgotten; undefined where it does not. */
export function longWindowWarning(end: number, now: number): string | undefined {
  if (end - now <= usualWindowMs) return undefined;
  return `warning: the window stays open for ${humanDuration(end - now)}: until then nodes reboot into whatever is staged, at any hour; take it back: sluice window close`;
}
