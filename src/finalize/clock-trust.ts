import { existsSync } from 'node:fs';
import type { Clock } from '../observe/clock.ts';
import type { Bus } from './dbus/bus.ts';
import type { Variant } from './dbus/wire.ts';
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

/**
 * Whether permission may rest on the time. Pure. A clock that is known to be away from the API server's holds, whatever
 * the host says of it; else any one evidence is enough, and none is "no".
 */
export function clockHold(evidence: ClockEvidence): Hold | undefined {
  const { declared, synchronized, skewMs } = evidence;
  if (declared) return undefined;
  const away = skewMs !== undefined && Math.abs(skewMs) > clockSkewMsMax;
  if (!away && (synchronized === true || skewMs !== undefined)) return undefined;
  const why = away
    ? `it is ${Math.round(skewMs / 1000)} s away from the API server's`
    : 'it is not synchronised and no API server was there to compare it with';
  return {
    gate: 'clock',
    reason: away ? 'ClockSkewed' : 'ClockUntrusted',
    message: `the window counts time, and the clock is not to be trusted: ${why}`,
  };
}

/** systemd-timesyncd makes this file when it has set the clock (systemd-timesyncd.service(8)). */
const timesyncFile = '/run/systemd/timesync/synchronized';
/** The answer of timedated is asked for this often at most; it may have to be started first. Milliseconds. */
const evidenceAgeMax = 60_000;

/** Whether this host's clock is synchronised, by timesyncd's file or by timedated; undefined where nobody says. */
export function createSyncMeter(bus: Bus, clock: Clock): () => Promise<boolean | undefined> {
  let known: { readonly at: number; readonly synchronized: boolean | undefined } | undefined;
  return async () => {
    if (existsSync(timesyncFile)) return true;
    if (known === undefined || clock.monotonic() - known.at > evidenceAgeMax) {
      known = { at: clock.monotonic(), synchronized: await askTimedated(bus) };
    }
    return known.synchronized;
  };
}

async function askTimedated(bus: Bus): Promise<boolean | undefined> {
  try {
    const connection = await bus.connection();
    const [answer] = await connection.call({
      destination: 'org.freedesktop.timedate1',
      path: '/org/freedesktop/timedate1',
      interface: 'org.freedesktop.DBus.Properties',
      member: 'Get',
      signature: 'ss',
      body: ['org.freedesktop.timedate1', 'NTPSynchronized'],
    });
    return (answer as Variant).value === true;
  } catch {
    return undefined;
  }
}
