import { claimAddresses } from '../src/up/network.ts';

/** A /24 of the loopback that is a test's until it is released or the process ends. */
export interface TestNetwork {
  /** Its first three bytes, `127.64.1`; nodes stand from `.11` on. */
  readonly prefix: string;
  release(): Promise<void>;
}

/** Those of `sluice up` lie below, and a rehearsal may run on this machine. */
const networks = Array.from({ length: 64 * 250 }, (_, index) => {
  return `127.${64 + Math.floor(index / 250)}.${1 + (index % 250)}`;
});

/**
 * Takes a network in which nobody on this machine has the port: other tests run beside this one, of this checkout and
 * of others.
 */
export async function takeNetwork(port: number): Promise<TestNetwork> {
  for (const prefix of networks) {
    const release = await claimAddresses(prefix, port);
    if (release !== undefined) return { prefix, release };
  }
  throw new Error(`no network of the loopback has the port ${port} free`);
}
