import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Clock } from '../observe/clock.ts';
import type { Host } from './agent.ts';
import type { FinalizeConfig } from './config.ts';
import type { Bus } from './dbus/bus.ts';
import type { BusConnection } from './dbus/connection.ts';
import type { Wanted } from './decide.ts';
import type { Hold } from './hold.ts';
import { hookHolds } from './hooks.ts';
import { inhibitorHolds, loggedInUsers } from './logind.ts';
import type { Users } from './users.ts';
import { warnUsers } from './wall.ts';

/** zincati's file by which an administrator says that nobody who is logged in counts (zincati-update-now writes it). */
const overrideFile = '/run/zincati/override-interactive-check';
const zincatiName = 'org.coreos.zincati';
const bus = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
} as const;
/** Hooks are asked at most this often while nothing else has changed; an event asks them anew. Milliseconds. */
const hooksAgeMax = 15_000;

/** The machine that this process runs on. */
export function createHost(host: Bus, clock: Clock): Host {
  let users: Users = { kind: 'none' };
  let asked: { readonly at: number; readonly digest: string; readonly holds: readonly Hold[] } | undefined;

  async function hooks(config: FinalizeConfig, wanted: Wanted): Promise<readonly Hold[]> {
    const fresh = asked !== undefined && clock.monotonic() - asked.at < hooksAgeMax;
    if (asked !== undefined && fresh && asked.digest === wanted.digest && asked.holds.length > 0)
      return asked.holds;
    const { hooksDirectory, hookTimeoutMs } = config.blockers;
    const holds = await hookHolds({
      directory: hooksDirectory,
      timeoutMs: hookTimeoutMs,
      environment: { SLUICE_IMAGE: wanted.image, SLUICE_DIGEST: wanted.digest },
      ownerUid: process.getuid?.() ?? 0,
    });
    asked = { at: clock.monotonic(), digest: wanted.digest, holds };
    return holds;
  }

  return {
    async look(config, wanted, firstBoot) {
      const [inhibitors, hooked, found, zincati, ageMs] = await Promise.all([
        inhibitorHolds(host, config.blockers.blockWeak),
        wanted === undefined ? [] : hooks(config, wanted),
        existsSync(overrideFile) ? ({ kind: 'none' } as const) : loggedInUsers(host),
        zincatiHold(host),
        firstBoot ? uptimeMs() : Number.POSITIVE_INFINITY,
      ]);
      users = found;
      const young = firstBootHold(ageMs, config.blockers.firstBootMs, clock.now());
      return {
        blockers: [...inhibitors, ...hooked, ...[zincati, young].filter((hold) => hold !== undefined)],
        users,
      };
    },
    async warn(message) {
      if (users.kind === 'some') await warnUsers(users.sessions, message);
    },
  };
}

/** Follows whether zincati runs. */
export async function followZincati(connection: BusConnection, changed: () => void): Promise<void> {
  const rule = `type='signal',sender='${bus.destination}',member='NameOwnerChanged',arg0='${zincatiName}'`;
  await connection.follow(rule, ({ member, body }) => {
    if (member === 'NameOwnerChanged' && body[0] === zincatiName) changed();
  });
}

/** zincati on the same host would stage and reboot as well: it is not fought, this agent stands back. */
async function zincatiHold(host: Bus): Promise<Hold | undefined> {
  try {
    const connection = await host.connection();
    const [runs] = await connection.call({
      ...bus,
      member: 'NameHasOwner',
      signature: 's',
      body: [zincatiName],
    });
    if (runs !== true) return undefined;
  } catch {
    return undefined; // Without the bus there are the inhibitors, which are then unknown and hold.
  }
  return {
    gate: 'config',
    reason: 'ZincatiRuns',
    message:
      'zincati runs on this host and decides about its updates; stop one of the two: systemctl disable --now zincati',
  };
}

/** In its first minutes a new host is still being set up. Pure. */
export function firstBootHold(ageMs: number | undefined, leastMs: number, now: number): Hold | undefined {
  if (leastMs === 0) return undefined;
  if (ageMs !== undefined && ageMs >= leastMs) return undefined;
  return {
    gate: 'uptime',
    reason: 'FirstBoot',
    message: `this is the first boot, ${Math.round((ageMs ?? 0) / 1000)} s old; the host is given ${leastMs / 1000} s to be set up`,
    opensAt: now + leastMs - (ageMs ?? 0),
  };
}

/** Clock ticks a second of /proc (proc(5)); the same on every Linux that runs Node. */
const ticksPerSecond = 100;

/** How long PID 1 has been running: in a container that is the container's age, not the machine's. */
async function uptimeMs(): Promise<number | undefined> {
  try {
    const [uptime] = (await readFile('/proc/uptime', 'utf8')).split(' ');
    const stat = await readFile('/proc/1/stat', 'utf8');
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return Number(uptime) * 1000 - (Number(started) / ticksPerSecond) * 1000;
  } catch {
    return undefined;
  }
}
