import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { BlockList, isIPv6, type Socket } from 'node:net';

/** Who may ask the lock server for a slot. */
export interface LockAccess {
  /**
   * What clients may show as `Authorization: Bearer`; absent: none is asked of other machines.
   * @param fresh as it stands now, not as it is remembered.
   */
  readonly secrets?: (fresh: boolean) => Promise<readonly string[]>;
  /** Whoever asks from this machine shows it too; else the kernel tells whose connection it is. */
  readonly secretForAll?: boolean;
  /** Users of this machine who need no secret; root and the server's own user never do. */
  readonly trustedUids: readonly number[];
}

/** Tells why a request is not let in; undefined where it is. */
export type Gatekeeper = (request: IncomingMessage) => Promise<string | undefined>;

/**
 * Whoever takes a slot has a node drained, so on this machine, where every user can reach the server, it is asked whose
 * connection it is. The protocol itself knows no credentials: a client of its own kind (zincati) is let in by its user,
 * or from other machines where no secret is set.
 */
export function createGatekeeper(access: LockAccess): Gatekeeper {
  const trusted = new Set([0, process.getuid?.() ?? 0, ...access.trustedUids]);
  const owners = new WeakMap<Socket, Promise<number | undefined>>();
  return async (request) => {
    const { authorization } = request.headers;
    const { secrets } = access;
    if (authorization !== undefined && secrets !== undefined) {
      const isOne = (accepted: readonly string[]) =>
        accepted.some((secret) => sameSecret(authorization, `Bearer ${secret}`));
      if (isOne(await secrets(false)) || isOne(await secrets(true))) return undefined;
      return 'the secret is not the right one';
    }
    const { socket } = request;
    if (access.secretForAll === true || !isLocal(socket)) {
      return secrets === undefined ? undefined : 'it asks for a secret';
    }
    // The first request of a connection decides for all of it.
    const owner = owners.get(socket) ?? ownerOf(socket);
    owners.set(socket, owner);
    const uid = await owner;
    if (uid === undefined) return 'it is not known which user of this machine asks';
    return trusted.has(uid)
      ? undefined
      : `uid ${uid} of this machine is not among those who may ask without a secret`;
  };
}

function sameSecret(shown: string, wanted: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(shown), hash(wanted));
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** From this machine: over the loopback, or to an address of its own. */
function isLocal({ remoteAddress, localAddress }: Socket): boolean {
  if (remoteAddress === undefined) return true; // It is gone already: then nobody's.
  return (
    remoteAddress === localAddress ||
    loopback.check(plainAddress(remoteAddress), isIPv6(plainAddress(remoteAddress)) ? 'ipv6' : 'ipv4')
  );
}

/** An IPv4 address is not written as an IPv6 one. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}

/** The user whose socket is at the other end of a local connection; undefined where that cannot be told. */
async function ownerOf({ remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 }: Socket) {
  const peer = { address: remoteAddress, port: remotePort };
  const self = { address: localAddress, port: localPort };
  for (const table of ['/proc/self/net/tcp', '/proc/self/net/tcp6']) {
    try {
      const uid = findOwner(await readFile(table, 'utf8'), peer, self);
      if (uid !== undefined) return uid;
    } catch {
      // Without this table there is the other one, or no answer.
    }
  }
  return undefined;
}

interface Endpoint {
  readonly address: string;
  readonly port: number;
}

const established = '01';

/**
 * The owner of the socket from `peer` to `self` in a table of proc_net(5). Only one that stands and has an inode counts:
 * what was closed already is shown as root's. Pure.
 */
export function findOwner(table: string, peer: Endpoint, self: Endpoint): number | undefined {
  const forms = [hexEndpoints(peer), hexEndpoints(self)] as const;
  for (const line of table.split('\n').slice(1)) {
    const [, local = '', remote = '', state, , , , uid, , inode] = line.trim().split(/\s+/);
    if (!forms[0].includes(local) || !forms[1].includes(remote)) continue;
    return state === established && inode !== '0' && uid !== undefined ? Number(uid) : undefined;
  }
  return undefined;
}

/** How the kernel writes an endpoint: words of 32 bits in the order of the machine's bytes, then the port. */
function hexEndpoints({ address, port }: Endpoint): string[] {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const word = (bytes: readonly number[]) =>
    [...bytes]
      .reverse()
      .map((byte) => byte.toString(16).toUpperCase().padStart(2, '0'))
      .join('');
  const plain = plainAddress(address);
  if (!isIPv6(plain)) {
    const v4 = word(plain.split('.').map(Number));
    return [`${v4}${end}`, `0000000000000000${word([0, 0, 0xff, 0xff])}${v4}${end}`];
  }
  const bytes = ipv6Bytes(plain);
  return [`${[0, 4, 8, 12].map((at) => word(bytes.slice(at, at + 4))).join('')}${end}`];
}

function ipv6Bytes(address: string): number[] {
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? [];
  const words = (text: string) =>
    text === '' ? [] : text.split(':').map((part) => Number.parseInt(part, 16));
  const [front, back] = [words(head), words(tail ?? '')];
  const middle = tail === undefined ? [] : Array.from({ length: 8 - front.length - back.length }, () => 0);
  return [...front, ...middle, ...back].flatMap((each) => [each >> 8, each & 0xff]);
}
