import { cleanText } from '../gates/result.ts';

/** What keeps a node from finalizing, in the order in which it is asked and shown (docs/finalization.md). */
export const gateNames = [
  'config',
  'staged',
  'uptime',
  'clock',
  'periodic',
  'marker_file',
  'inhibitors',
  'hooks',
  'users',
  'fleet_lock',
  'finalize',
] as const;

export type GateName = (typeof gateNames)[number];

/** One gate's "not now". */
export interface Hold {
  readonly gate: GateName;
  /** CamelCase, stable, for scripts and metrics. */
  readonly reason: string;
  /** One sentence for a person: what holds it and what would let it go. */
  readonly message: string;
  /** Unix milliseconds at which this gate may open by itself; absent where only an event can. */
  readonly opensAt?: number;
}

/** A hold as it is reported: since when it stands. RFC 3339. */
export interface ReportedHold {
  readonly gate: string;
  readonly reason: string;
  readonly message: string;
  readonly since: string;
}

/** Keeps the time since which each hold stands: it moves only when gate or reason change. */
export function reportHolds(
  holds: readonly Hold[],
  previous: readonly ReportedHold[],
  now: string,
): ReportedHold[] {
  const reported = holds.slice(0, reportedMax).map(({ gate, reason, message }) => {
    const before = previous.find((hold) => hold.gate === gate && hold.reason === reason);
    return { gate, reason, message: foreignText(message, messageCharsMax), since: before?.since ?? now };
  });
  const more = holds.length - reported.length;
  const last = reported.at(-1);
  if (more === 0 || last === undefined) return reported;
  return [...reported.slice(0, -1), { ...last, message: `${last.message} (and ${more} more)` }];
}

/** Holds and letters of one that are reported: whoever may take an inhibitor may take thousands, of any length. */
const reportedMax = 20;
const messageCharsMax = 1000;

/** Words of others on one line, for terminals, logs and statuses: what would steer a terminal is gone. Pure. */
export function foreignText(text: string, charsMax: number): string {
  return cleanText(text, charsMax).replaceAll(
    /[\n\u0080-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    ' ',
  );
}

/** In the order of the gates. */
export function sortHolds(holds: readonly Hold[]): Hold[] {
  return [...holds].sort((a, b) => gateNames.indexOf(a.gate) - gateNames.indexOf(b.gate));
}

/** Everything is looked at again at least this often, whatever happened meanwhile. Milliseconds. */
export const lookAgainMs = 60_000;

/** Milliseconds until the next look at a held node: when the first gate opens, or soon enough anyway. */
export function nextLookMs(holds: readonly Hold[], now: number): number {
  const opens = holds.flatMap(({ opensAt }) => (opensAt === undefined ? [] : [opensAt - now]));
  return Math.max(50, Math.min(lookAgainMs, ...opens));
}
