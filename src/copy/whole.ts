import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { VerifiedBundle } from '../bundle/bundle.ts';
import { faultPoint } from '../durable/fault.ts';
import { fsyncDirectory, readJson, writeJson } from '../durable/file.ts';
import { systemCode } from '../errors/error.ts';
import { bindingsFolder } from '../store/binding.ts';
import { repositoriesPath } from '../store/path.ts';

/** The proof that a store holds a release whole: written only after every byte of it was hashed there. */
export interface WholeRecord {
  readonly formatVersion: 1;
  /** The bundle's name. */
  readonly name: string;
  /** What was signed, as it was verified when the copy began. */
  readonly bundle: VerifiedBundle;
  /** Bytes of all its blobs, each counted once. */
  readonly bytes: number;
  /** Bytes that the copy which completed it wrote; what other releases share with it was there already. */
  readonly bytesWritten?: number;
  /** RFC 3339. */
  readonly verifiedAt: string;
}

/** Records stand within the store, beside `docker/`, so that they travel with a store that is preloaded. */
const wholeFolder = join('sluice', 'installed');
/** Where a record goes when its release is being removed, so that a crash in between is taken up again. */
const removingFolder = join('sluice', 'removing');

const suffix = '.json';

function recordPath(storeRoot: string, folder: string, name: string): string {
  return join(storeRoot, folder, `${name}${suffix}`);
}

/** Every release that the store holds whole, by name. A file that is no record of ours counts as absent. */
export async function readWholeRecords(storeRoot: string): Promise<Map<string, WholeRecord>> {
  return await readRecords(storeRoot, wholeFolder);
}

/** Releases whose removal has begun. */
export async function readRemovals(storeRoot: string): Promise<Map<string, WholeRecord>> {
  return await readRecords(storeRoot, removingFolder);
}

async function readRecords(storeRoot: string, folder: string): Promise<Map<string, WholeRecord>> {
  const records = new Map<string, WholeRecord>();
  let files: string[];
  try {
    files = await readdir(join(storeRoot, folder));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return records;
    throw error;
  }
  for (const file of files.sort()) {
    if (!file.endsWith(suffix) || file.startsWith('.')) continue;
    const name = file.slice(0, -suffix.length);
    const record = await readJson<WholeRecord>(recordPath(storeRoot, folder, name)).catch(() => undefined);
    if (record?.formatVersion === 1 && record.name === name) records.set(name, record);
  }
  return records;
}

/** Durable when it returns. */
export async function writeWholeRecord(storeRoot: string, record: WholeRecord): Promise<void> {
  await writeJson(recordPath(storeRoot, wholeFolder, record.name), record);
}

/** Takes the proof back, durably: what it vouched for is not all there any more. Absent is what was wanted. */
export async function takeBackRecord(storeRoot: string, name: string): Promise<void> {
  await rm(recordPath(storeRoot, wholeFolder, name), { force: true });
  await fsyncDirectory(join(storeRoot, wholeFolder));
}

/** Takes the proof back, durably, before the first byte of the release goes. */
export async function beginRemoval(storeRoot: string, name: string): Promise<void> {
  await mkdir(join(storeRoot, removingFolder), { recursive: true });
  await rename(recordPath(storeRoot, wholeFolder, name), recordPath(storeRoot, removingFolder, name));
  await fsyncDirectory(join(storeRoot, wholeFolder));
  await fsyncDirectory(join(storeRoot, removingFolder));
  faultPoint('removal-begun');
}

/** Everything of the release that was its own is gone. */
export async function endRemoval(storeRoot: string, name: string): Promise<void> {
  await rm(recordPath(storeRoot, removingFolder, name), { force: true });
  await fsyncDirectory(join(storeRoot, removingFolder));
}

/**
 * Forgets every release of a store that nobody works on, and what their names were bound to. The bytes stay: what the
 * next copy needs of them it finds there.
 */
export async function forgetReleases(storeRoot: string): Promise<void> {
  for (const folder of [wholeFolder, removingFolder, repositoriesPath, bindingsFolder]) {
    await rm(join(storeRoot, folder), { recursive: true, force: true });
  }
}
