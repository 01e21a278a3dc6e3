import { type FileHandle, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fsyncDirectory, readJson, writeJson } from '../durable/file.ts';
import { SluiceError, systemCode } from '../errors/error.ts';
import type { Holder } from './slots.ts';
import { createGatherer, type LockGroup, type LockStore } from './store.ts';

/** Bytes after which the journal becomes one file of what stands. */
const journalBytesMax = 16 * 1024 * 1024;

export interface GroupRule {
  readonly name: string;
  readonly slots: number;
}

/**
 * The slots in a directory, for a fleet without a cluster: a file of what stood, and a journal of what changed since.
 * The rules are those of the command line at each start (airlock keeps the first for ever, airlock#81); holders of a
 * group that is not named any more are kept, and count again when it is.
 */
export async function openFileStore(
  dir: string,
  rules: readonly GroupRule[],
): Promise<LockStore & { close(): Promise<void> }> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const holders = await readHolders(dir);
  const journalPath = join(dir, 'journal');
  let journal: FileHandle = await compact();
  let size = 0;
  let lines: string[] = [];
  let flushing: Promise<void> | undefined;

  /** One write and one flush for all groups that changed meanwhile. */
  function flush(): Promise<void> {
    flushing ??= Promise.resolve().then(async () => {
      // What is decided from here on waits for the next flush.
      const text = lines.join('');
      lines = [];
      flushing = undefined;
      previous = previous.catch(() => {}).then(() => append(text));
      await previous;
    });
    return flushing;
  }
  let previous: Promise<void> = Promise.resolve();

  async function append(text: string): Promise<void> {
    if (broken !== undefined) throw broken;
    try {
      await journal.write(text);
      await journal.datasync();
      size += text.length;
      if (size > journalBytesMax) {
        await journal.close();
        journal = await compact();
        size = 0;
      }
    } catch (error) {
      // What stands in memory may not stand on the disk: nothing is granted any more until a restart has read it.
      broken = new SluiceError('DiskFull', `the slots cannot be written below ${dir}`, { cause: error });
      throw broken;
    }
  }
  let broken: SluiceError | undefined;

  async function compact(): Promise<FileHandle> {
    await writeJson(join(dir, 'slots.json'), Object.fromEntries(holders), { mode: 0o600 });
    await rm(journalPath, { force: true });
    const handle = await open(journalPath, 'a', 0o600);
    await fsyncDirectory(dir);
    return handle;
  }

  const groupOf = ({ name, slots }: GroupRule): LockGroup => ({
    name,
    slots,
    minReadyMs: 0,
    overdueMs: 1_800_000,
    drain: 'None',
    drainTimeoutMs: 0,
    holders: holders.get(name) ?? [],
  });

  return {
    change: createGatherer(async (name, decide) => {
      const rule = rules.find((each) => each.name === name);
      if (rule === undefined) return false;
      const group = groupOf(rule);
      const next = decide(group);
      if (next === group.holders) return true;
      holders.set(name, next);
      lines.push(`${JSON.stringify([name, next])}\n`);
      await flush();
      return true;
    }),
    groups: async () => rules.map(groupOf),
    async close() {
      await previous.catch(() => {});
      await journal.close();
    },
  };
}

async function readHolders(dir: string): Promise<Map<string, readonly Holder[]>> {
  const base = (await readJson<Record<string, readonly Holder[]>>(join(dir, 'slots.json'))) ?? {};
  const holders = new Map(Object.entries(base));
  let text = '';
  try {
    text = await readFile(join(dir, 'journal'), 'utf8');
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
  // A line without its end was never acknowledged.
  for (const line of text.split('\n').slice(0, -1)) {
    try {
      const [name, next] = JSON.parse(line) as [string, readonly Holder[]];
      holders.set(name, next);
    } catch (error) {
      throw new SluiceError('InputInvalid', `${join(dir, 'journal')} is damaged`, { cause: error });
    }
  }
  return holders;
}
