import { createServer } from 'node:net';
import { SluiceError } from '../errors/error.ts';
import { firstNetwork } from './layout.ts';

const networksMax = 64;

/** Whether an address can be listened on now. */
export async function isFree(address: string, port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: address, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
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

/**
 * The /24 that a cluster takes: the one it had before if that is free, else the first free one.
 * Errors: Conflict where none is free.
 */
export async function chooseNetwork(port: number, before: number | undefined): Promise<number> {
  const candidates = Array.from({ length: networksMax }, (_, index) => firstNetwork + index);
  for (const network of before === undefined ? candidates : [before, ...candidates]) {
    if (await isFree(`127.22.${network}.11`, port)) return network;
  }
  throw new SluiceError('Conflict', `no address from 127.22.${firstNetwork}.11 on has port ${port} free`);
}
