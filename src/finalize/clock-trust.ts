import type { Hold } from './hold.ts';

/** How far the clock may be from the API server's, milliseconds. */
export const clockSkewMsMax = 60_000;

/** What is known about the clock of this node. */
export interface ClockEvidence {
  /** A person has declared it right. */
  readonly declared: boolean;
  /** systemd-timesyncd or chrony say that it is synchronised; undefined where nobody says. */
  readonly synchronized?: boolean;
  /** This clock minus the API server's, milliseconds; undefined where no API server was asked. */
  readonly skewMs?: number;
}

/** Whether permission may rest on the time. Pure; any one evidence is enough, none is "no" (case B12). */
export function clockHold(evidence: ClockEvidence): Hold | undefined {
  if (evidence.declared || evidence.synchronized === true) return undefined;
  if (evidence.skewMs !== undefined && Math.abs(evidence.skewMs) <= clockSkewMsMax) return undefined;
  const why =
    evidence.skewMs === undefined
      ? 'it is not synchronised and no API server was there to compare it with'
      : `it is ${Math.round(evidence.skewMs / 1000)} s away from the API server's`;
  return {
    gate: 'clock',
    reason: 'ClockUntrusted',
    message: `the window counts time, and the clock is not to be trusted: ${why}`,
  };
}
