/** What keeps a node from finalizing, in the order in which it is asked (facts/gate order; docs/finalization.md). */
export const gateNames = [
  'config',
  'staged',
  'clock',
  'marker_file',
  'inhibitors',
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
  return holds.map(({ gate, reason, message }) => {
    const before = previous.find((hold) => hold.gate === gate && hold.reason === reason);
    return { gate, reason, message, since: before?.since ?? now };
  });
}
