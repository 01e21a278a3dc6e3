import { faultPoint } from '../durable/fault.ts';
import { readJson, writeJson } from '../durable/file.ts';
import type { Digest } from '../oci/digest.ts';
import type { Intent } from './decide.ts';
import type { LockRequest } from './fleet-lock.ts';

/** A slot that must be given back, by the identity under which it was taken. */
export interface Debt {
  readonly lock: LockRequest;
  /** Not before this time: the node proves itself first. Unix milliseconds. */
  readonly after: number;
  /** How long it was made to wait, milliseconds: it never waits longer, whatever is done to the clock. */
  readonly waitMs?: number;
}

/** What the agent keeps across restarts, in one file that is durable before each step. */
export interface Memory {
  readonly intent?: Intent;
  /** Boots in vain, by digest. */
  readonly failures: Readonly<Record<string, number>>;
  /** The window of the cluster that was last turned into a marker, as JSON; '' where none is in force. */
  readonly appliedWindow: string;
  readonly debts: readonly Debt[];
  /** The digest that was booted for the present wish. */
  readonly confirmed?: Digest;
  /** What this agent staged. */
  readonly staged?: Digest;
  /** The boot in which the agent ran first on this host. */
  readonly firstBootID: string;
}

/** Digests whose failures are remembered; an old release is not asked for again. */
const failuresKept = 16;

export interface MemoryFile {
  readonly now: Memory;
  /** Keys that are undefined are forgotten. Durable when it resolves. */
  remember(change: { readonly [Key in keyof Memory]?: Memory[Key] | undefined }): Promise<void>;
}

/** What an agent that kept its memory there staged; undefined where it did not. */
export async function stagedInMemory(path: string): Promise<Digest | undefined> {
  return (await readJson<Partial<Memory>>(path))?.staged;
}

export async function openMemory(path: string, bootID: string): Promise<MemoryFile> {
  const before = await readJson<Partial<Memory>>(path);
  let now: Memory = {
    failures: {},
    appliedWindow: '',
    debts: [],
    firstBootID: before === undefined ? bootID : '',
    ...before,
  };
  let writing: Promise<void> = Promise.resolve();
  const file = {
    get now() {
      return now;
    },
    async remember(change: Parameters<MemoryFile['remember']>[0]) {
      const before = now;
      const merged = Object.entries({ ...now, ...change }).filter(([, value]) => value !== undefined);
      now = Object.fromEntries(merged) as unknown as Memory;
      const failures = Object.entries(now.failures).slice(-failuresKept);
      now = { ...now, failures: Object.fromEntries(failures) };
      const text = now;
      writing = writing.catch(() => {}).then(() => writeJson(path, text, { mode: 0o600 }));
      try {
        await writing;
      } catch (error) {
        // What is not on the disk is not remembered: nothing is acted on that a restart would not know.
        if (now === text) now = before;
        throw error;
      }
      faultPoint('finalize-remembered');
    },
  };
  if (before === undefined) await file.remember({});
  return file;
}
