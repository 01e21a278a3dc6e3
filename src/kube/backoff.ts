/** How long to wait after the Nth failure in a row. */
export interface Backoff {
  readonly firstMs: number;
  readonly factor: number;
  readonly mostMs: number;
  /** The part of the wait that is left to chance, 0 to 1, so that many clients do not come back at once. */
  readonly jitter: number;
}

/** Milliseconds to wait after `failures` (1 and more) failures in a row. `random` gives 0 to 1. */
export function backoffMs(backoff: Backoff, failures: number, random: () => number): number {
  const whole = Math.min(backoff.mostMs, backoff.firstMs * backoff.factor ** (failures - 1));
  return Math.round(whole * (1 - backoff.jitter * random()));
}

/**
 * Whether a wait until `untilMs` still stands, by a wall clock. One that would take longer than any does was begun
 * before the clock was set back: it is over.
 */
export function stillWaits(untilMs: number, nowMs: number, mostMs: number): boolean {
  const leftMs = untilMs - nowMs;
  return leftMs > 0 && leftMs <= mostMs;
}
