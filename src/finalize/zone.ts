import { lstat, readlink } from 'node:fs/promises';
import { SluiceError, systemCode } from '../errors/error.ts';
import type { ZoneClock } from './weekly.ts';

const utc: ZoneClock = { name: 'UTC', offsetMs: () => 0, nextChange: () => undefined };

const known = new Map<string, ZoneClock>();

/**
 * The wall clock of a zone by its IANA name. The zone data are those that come with the runtime, so that a host
 * without any loses nothing; UTC needs none at all. Errors: InputInvalid.
 */
export async function loadZone(name: string): Promise<ZoneClock> {
  if (name === 'UTC') return utc;
  const before = known.get(name);
  if (before !== undefined) return before;
  const { Temporal } = await import('temporal-polyfill');
  const at = (ms: number) => Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(name);
  try {
    at(0);
  } catch (error) {
    throw new SluiceError('InputInvalid', `'${name.slice(0, 64)}' is not a time zone that is known`, {
      cause: error,
      next: "Write an IANA name such as Europe/Berlin, 'localtime' or 'UTC'.",
    });
  }
  const zone = cached({
    name,
    offsetMs: (ms) => at(ms).offsetNanoseconds / 1e6,
    nextChange: (ms) => at(ms).getTimeZoneTransition('next')?.epochMilliseconds,
  });
  known.set(name, zone);
  return zone;
}

/** Remembers the stretch of even time that was asked for last: an agent asks for the same one again and again. */
function cached(zone: ZoneClock): ZoneClock {
  let stretch: { from: number; to: number | undefined; offset: number } | undefined;
  const look = (ms: number) => {
    if (stretch === undefined || ms < stretch.from || ms >= (stretch.to ?? Number.POSITIVE_INFINITY)) {
      stretch = { from: ms, to: zone.nextChange(ms), offset: zone.offsetMs(ms) };
    }
    return stretch;
  };
  return { name: zone.name, offsetMs: (ms) => look(ms).offset, nextChange: (ms) => look(ms).to };
}

/**
 * The name behind `time_zone = "localtime"`: where /etc/localtime points to (localtime(5)). Absent means UTC. A file
 * that is no link has no name; to take that for UTC would move every window without a word. Errors: InputInvalid.
 */
export async function localZoneName(path = '/etc/localtime'): Promise<string> {
  try {
    if (!(await lstat(path)).isSymbolicLink()) {
      throw new SluiceError(
        'InputInvalid',
        `${path} is not a link, so the name of the local zone is not known`,
        {
          next: 'Name the zone in updates.periodic.time_zone, or set it by timedatectl.',
        },
      );
    }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 'UTC';
    throw error;
  }
  const target = await readlink(path);
  const name = /(?:^|\/)zoneinfo\/(.+)$/.exec(target)?.[1];
  if (name === undefined) {
    throw new SluiceError(
      'InputInvalid',
      `${path} points to ${target}, which is below no zoneinfo directory`,
    );
  }
  return name;
}
