import { createServer } from 'node:net';
import { SluiceError } from '../errors/error.ts';
import { firstNetwork } from './layout.ts';

const networksMax = 64;

/** Whether an address can be listened on now. */
export async function isFree(address: string, port: number): Promise<boolean> {
  const release = await listen(address, port);
  await release?.();
  return release !== undefined;
}

/**
 * A free port on loopback: the one of the URL that was used before where it still is free, so that kubeconfigs
 * which people have copied go on working. Somebody may take it before it is used; then the start says so.
 */
export async function freePort(before?: string): Promise<number> {
  const earlier = before === undefined ? 0 : Number(new URL(before).port);
  if (earlier > 0 && (await isFree('127.0.0.1', earlier))) return earlier;
  return await new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port: 0 }, () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/** A /24 that is this process's until it is released or the process ends. */
export interface Network {
  readonly number: number;
  release(): Promise<void>;
}

/**
 * Takes a /24: the one that the cluster had before if that is free, else the first free one.
 * Errors: Conflict where none is free.
 */
export async function claimNetwork(port: number, before: number | undefined): Promise<Network> {
  const candidates = Array.from({ length: networksMax }, (_, index) => firstNetwork + index);
  for (const number of before === undefined ? candidates : [before, ...candidates]) {
    const release = await claimAddresses(`127.22.${number}`, port);
    if (release !== undefined) return { number, release };
  }
  throw new SluiceError('Conflict', `no address from 127.22.${firstNetwork}.11 on has port ${port} free`, {
    next: `End another cluster of this machine (sluice up stop --dir DIR), or what else listens there: ss -ltnp 'sport = :${port}'`,
  });
}

/**
 * Takes the addresses `prefix.0/24` of the loopback for nodes from `.11` on. They are held by listening on one that no
 * node has, so that two that look at once do not both find them free. Undefined where somebody has them.
 */
export async function claimAddresses(
  prefix: string,
  port: number,
): Promise<(() => Promise<void>) | undefined> {
  const release = await listen(`${prefix}.1`, port);
  if (release === undefined || (await isFree(`${prefix}.11`, port))) return release;
  await release();
  return undefined;
}

/** Listens without answering; undefined where the address is taken. */
async function listen(address: string, port: number): Promise<(() => Promise<void>) | undefined> {
  const server = createServer((socket) => socket.destroy()).unref();
  const isTaken = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(true));
    server.listen({ host: address, port, exclusive: true }, () => resolve(false));
  });
  return isTaken ? undefined : () => new Promise((resolve) => server.close(() => resolve()));
}
