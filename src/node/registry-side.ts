import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleRepository } from '../bundle/document.ts';
import { writeDurable, writeJson } from '../durable/file.ts';
import type { HttpClient } from '../http/client.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../observe/clock.ts';
import type { Digest } from '../oci/digest.ts';
import { readCredentials } from '../release/credentials.ts';
import { pingRegistry } from '../release/ping.ts';
import { publicKeySuffix, type TrustedKey } from '../trust/keys.ts';
import { createTurns } from '../turns/turns.ts';
import { createPasswordFile } from './passwords.ts';
import type { TreeEntry } from './trees.ts';

/** What the node does for its registry, which is a process of its own and reads these files. */
export interface RegistrySide {
  writeTrees(entries: readonly TreeEntry[]): Promise<void>;
  /** The keys that the registry believes: the same ones as the node, wherever each came from. */
  writeKeys(keys: readonly TrustedKey[]): Promise<void>;
  /** False while the cluster has no password yet. */
  writePasswords(): Promise<boolean>;
  /** Which credentials the registry accepts, in the words of `fingerprintOf`. */
  credentials(): string | undefined;
  /** Resolves when the registry serves these bundles, or after a while: then others see them a little later. */
  untilServed(bundles: readonly Digest[]): Promise<void>;
  /** Asks the registry now and then how it is, until the signal aborts. */
  watch(): Promise<void>;
  /** Why it does not answer; undefined where it does. */
  down(): string | undefined;
}

/** In the run directory: what `registry serve --trusted-keys` is given on a node. */
export const keysFolder = 'trusted-keys';

/** A registry that misses this many looks in a row is said to be down. */
const missesMax = 2;
/** A registry reads its list of trees again within a second; one that is down must not hold an attach. */
const servedMsMax = 5_000;
const servedPollMs = 100;
const wellMs = 10_000;
const unwellMs = 2_000;

export function createRegistrySide(options: {
  readonly client: KubeClient;
  readonly http: HttpClient;
  /** `address:port` of the registry. */
  readonly host: string;
  readonly runDir: string;
  readonly stateDir: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onChange: () => void;
}): RegistrySide {
  const { clock, signal } = options;
  // Who attaches writes while the node's own look does: each would take away what the other is about to rename.
  const inTurn = createTurns();
  let trees: string | undefined;
  let keys: string | undefined;
  const passwords = createPasswordFile({ runDir: options.runDir, stateDir: options.stateDir, clock });
  let down: string | undefined;
  return {
    writeTrees: (entries) =>
      inTurn(async () => {
        const text = JSON.stringify(entries);
        if (text === trees) return;
        await writeJson(join(options.runDir, 'trees.json'), entries);
        trees = text;
      }),
    writeKeys: (trusted) =>
      inTurn(async () => {
        const wanted = new Map(trusted.map((key) => [`${key.id}${publicKeySuffix}`, key.publicPem]));
        const text = JSON.stringify([...wanted].sort());
        if (text === keys) return;
        const directory = join(options.runDir, keysFolder);
        for (const [name, pem] of wanted) await writeDurable(join(directory, name), pem);
        await mkdir(directory, { recursive: true });
        for (const name of await readdir(directory)) {
          if (!wanted.has(name)) await rm(join(directory, name), { force: true });
        }
        keys = text;
      }),
    async writePasswords() {
      const before = passwords.fingerprint();
      const credentials = await readCredentials(options.client);
      await passwords.apply(credentials);
      if (passwords.fingerprint() !== before) options.onChange();
      return credentials !== undefined;
    },
    credentials: passwords.fingerprint,
    async untilServed(bundles) {
      const end = clock.now() + servedMsMax;
      for (const digest of bundles) {
        const url = `https://${options.host}/v2/${bundleRepository}/manifests/${digest}`;
        while (!(await isServed(options.http, url)) && clock.now() < end)
          await clock.sleep(servedPollMs, signal);
      }
    },
    async watch() {
      let misses = 0;
      while (!signal.aborted) {
        const why = await pingRegistry(options.http, options.host);
        misses = why === undefined ? 0 : misses + 1;
        const before = down;
        down = misses >= missesMax ? why : undefined;
        if (down !== before) options.onChange();
        await clock.sleep(why === undefined ? wellMs : unwellMs, signal);
      }
    },
    down: () => down,
  };
}

async function isServed(http: HttpClient, url: string): Promise<boolean> {
  try {
    const answer = await http.request({ method: 'HEAD', url, signal: AbortSignal.timeout(servedMsMax) });
    await answer.discard();
    return answer.status === 200;
  } catch {
    return false;
  }
}
