import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Claim, claimFile } from '../src/durable/claim.ts';
import { readJson, writeJson } from '../src/durable/file.ts';
import { SluiceError, systemCode } from '../src/errors/error.ts';
import { startTicksOf } from '../src/up/state.ts';
import { shown, stopCommand } from './stage.ts';

/** The directory of the demo, held by one run at a time: a second one would end the cluster of the first. */
export interface Place {
  /** Removes what an earlier run left, and keeps the directory. */
  empty(): Promise<void>;
  /** Removes the directory; another run may have it then. */
  remove(): Promise<void>;
}

/** The run that holds a place, for `--stop`. */
interface Holder {
  readonly pid: number;
  readonly startTicks: number;
}

const claimName = 'claim';
const holderName = 'holder.json';
/** A process that has just ended may still have had a file under its hands. */
const removal = { recursive: true, force: true, maxRetries: 20, retryDelay: 200 } as const;
/** Milliseconds within which a run that is asked to end has ended its cluster and removed it. */
const endMsMax = 150_000;

/** By these a place of the demo is known: all else in it is removed without asking. */
const marks: readonly string[] = [claimName, 'up.log'];

/** A person may name any directory. Errors: Conflict where files stand in it that are none of ours. */
async function requireOurs(directory: string): Promise<void> {
  const names = await readdir(directory).catch((error: unknown): string[] => {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  });
  if (names.length === 0 || marks.some((mark) => names.includes(mark))) return;
  throw new SluiceError('Conflict', `${shown(directory)} holds files that are not of ./quickstart`, {
    next: 'Everything in its place is removed: name a directory that is empty or not there, --dir DIR',
  });
}

/** Takes the place for this process. Errors: Conflict where another run has it, or it is somebody else's. */
export async function takePlace(directory: string): Promise<Place> {
  await requireOurs(directory);
  const claim = await claimed(directory, 0);
  if (claim === undefined) {
    const holder = await holderOf(directory);
    const who = holder === undefined ? '' : ` (process ${holder.pid})`;
    throw new SluiceError('Conflict', `another ./quickstart runs in ${shown(directory)}${who}`, {
      next: `Wait for its end, end it with ${stopCommand(directory)}, or give this one a place of its own: --dir DIR`,
    });
  }
  return await placeOf(directory, claim);
}

/** Takes the place from the run that has it, which is asked to end and cleans up. Errors: Conflict, Timeout. */
export async function takePlaceOver(directory: string, say: (text: string) => void): Promise<Place> {
  await requireOurs(directory);
  let claim = await claimed(directory, 0);
  if (claim === undefined) {
    const holder = await holderOf(directory);
    if (holder !== undefined) {
      say(`ending the ./quickstart that runs (process ${holder.pid})`);
      process.kill(holder.pid, 'SIGTERM');
    }
    claim = await claimed(directory, endMsMax);
    if (claim === undefined) {
      throw new SluiceError('Timeout', `it has not ended within ${endMsMax / 1000} s`, {
        next:
          holder === undefined ? `Run it again: ${stopCommand(directory)}` : `End it: kill -9 ${holder.pid}`,
      });
    }
  }
  return await placeOf(directory, claim);
}

/** The claim ends with this process. Undefined where another holds it for `waitMs`. */
async function claimed(directory: string, waitMs: number): Promise<Claim | undefined> {
  const path = join(directory, claimName);
  for (;;) {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const claim = await claimFile(path, waitMs);
    if (claim === undefined) return undefined;
    // Who had it removes the directory at its end. Where that came between, what is claimed is a file that is gone,
    // and the path leads to another one, which can be claimed, or to none.
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const other = await claimFile(path);
    if (other === undefined) return claim;
    other.release();
    claim.release();
  }
}

async function placeOf(directory: string, claim: Claim): Promise<Place> {
  const startTicks = (await startTicksOf(process.pid)) ?? 0;
  await writeJson(join(directory, holderName), { pid: process.pid, startTicks } satisfies Holder);
  return {
    async empty() {
      for (const name of await readdir(directory)) {
        if (name !== claimName && name !== holderName) await rm(join(directory, name), removal);
      }
    },
    async remove() {
      await rm(directory, removal);
      claim.release();
    },
  };
}

async function holderOf(directory: string): Promise<Holder | undefined> {
  const holder = await readJson<Holder>(join(directory, holderName));
  if (holder === undefined || (await startTicksOf(holder.pid)) !== holder.startTicks) return undefined;
  return holder;
}
