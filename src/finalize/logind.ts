import { readdir, readFile } from 'node:fs/promises';
import { messageOf } from '../errors/error.ts';
import type { Bus } from './dbus/bus.ts';
import type { BusConnection } from './dbus/connection.ts';
import type { Variant } from './dbus/wire.ts';
import { foreignText, type Hold } from './hold.ts';
import type { Session, Users } from './users.ts';

const manager = {
  destination: 'org.freedesktop.login1',
  path: '/org/freedesktop/login1',
  interface: 'org.freedesktop.login1.Manager',
} as const;

/** Letters that are shown of what somebody calls himself, and of his reason. */
const wordsCharsMax = 200;

/** One lock of logind's ListInhibitors(), `a(ssssuu)`. */
export interface Inhibitor {
  /** Colon-separated: `shutdown:sleep`. */
  readonly what: string;
  readonly who: string;
  readonly why: string;
  readonly mode: string;
  readonly uid: number;
  readonly pid: number;
}

/**
 * Whether a lock holds a reboot: it is on `shutdown`, and blocks. `delay` locks do not: every kubelet holds one all
 * the time. `block-weak` holds where the administrator asks for it. Pure.
 */
export function blocks({ what, mode }: Inhibitor, blockWeak: boolean): boolean {
  const hard = mode === 'block' || (blockWeak && mode === 'block-weak');
  return hard && what.split(':').includes('shutdown');
}

/** Follows what changes what logind would answer: locks and sessions. */
export async function followLogind(connection: BusConnection, changed: () => void): Promise<void> {
  const base = `type='signal',sender='${manager.destination}',path='${manager.path}'`;
  const rules = [
    `${base},interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'`,
    `${base},interface='${manager.interface}',member='SessionNew'`,
    `${base},interface='${manager.interface}',member='SessionRemoved'`,
  ];
  for (const rule of rules) {
    await connection.follow(rule, ({ path }) => {
      if (path === manager.path) changed();
    });
  }
}

/** The locks that hold a reboot, each a hold with its name. Not to know them holds too. */
export async function inhibitorHolds(bus: Bus, blockWeak: boolean): Promise<Hold[]> {
  let found: readonly Inhibitor[];
  try {
    const connection = await bus.connection();
    const [list] = await connection.call({ ...manager, member: 'ListInhibitors' });
    found = (list as [string, string, string, string, number, number][]).map(
      ([what, who, why, mode, uid, pid]) => ({ what, who, why, mode, uid, pid }),
    );
  } catch (error) {
    const message = `it is not known what inhibits a reboot: ${messageOf(error)}`;
    return [{ gate: 'inhibitors', reason: 'InhibitorsUnknown', message }];
  }
  return found
    .filter((inhibitor) => blocks(inhibitor, blockWeak))
    .map(({ who, why, mode, uid, pid }) => ({
      gate: 'inhibitors',
      reason: 'BlockInhibitor',
      message: `${foreignText(who, wordsCharsMax)} holds a ${mode} lock on shutdown: ${foreignText(why, wordsCharsMax)} (uid ${uid}, pid ${pid}); it goes on when that is released`,
    }));
}

/** Where logind keeps its sessions; read where the bus does not answer. */
const sessionsDirectory = '/run/systemd/sessions';

/** Who is logged in on a terminal: by logind, else by its files, else unknown. */
export async function loggedInUsers(bus: Bus, directory = sessionsDirectory): Promise<Users> {
  try {
    return usersOf(await sessionsByBus(await bus.connection()));
  } catch (error) {
    try {
      return usersOf(await sessionsByFiles(directory));
    } catch {
      return { kind: 'unknown', why: messageOf(error) };
    }
  }
}

function usersOf(sessions: readonly Session[]): Users {
  return sessions.length === 0 ? { kind: 'none' } : { kind: 'some', sessions };
}

async function sessionsByBus(connection: BusConnection): Promise<Session[]> {
  const [list] = await connection.call({ ...manager, member: 'ListSessions' });
  const sessions: Session[] = [];
  for (const [, , user, , path] of list as [string, number, string, string, string][]) {
    const [properties] = await connection.call({
      destination: manager.destination,
      path,
      interface: 'org.freedesktop.DBus.Properties',
      member: 'GetAll',
      signature: 's',
      body: ['org.freedesktop.login1.Session'],
    });
    const of = new Map((properties as [string, Variant][]).map(([name, { value }]) => [name, String(value)]));
    const session = { user, tty: of.get('TTY') ?? '', class: of.get('Class'), state: of.get('State') };
    if (countsAsUser(session)) sessions.push({ user, tty: session.tty });
  }
  return sessions;
}

/** Each file holds `KEY=value` lines: USER, TTY, CLASS, STATE. */
async function sessionsByFiles(directory: string): Promise<Session[]> {
  const sessions: Session[] = [];
  for (const name of await readdir(directory)) {
    if (name.endsWith('.ref')) continue;
    const text = await readFile(`${directory}/${name}`, 'utf8');
    const of = new Map([...text.matchAll(/^(\w+)=(.*)$/gm)].map((match) => [match[1], match[2] ?? '']));
    const session = { tty: of.get('TTY') ?? '', class: of.get('CLASS'), state: of.get('STATE') };
    if (countsAsUser(session)) sessions.push({ user: of.get('USER') ?? 'somebody', tty: session.tty });
  }
  return sessions;
}

/** As zincati: a session counts where it has a terminal; a login screen and one that is ending do not. Pure. */
export function countsAsUser(session: {
  tty: string;
  class?: string | undefined;
  state?: string | undefined;
}): boolean {
  return session.tty !== '' && session.class !== 'greeter' && session.state !== 'closing';
}
