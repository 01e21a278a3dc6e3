import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BundleDocument } from '../bundle/document.ts';
import { fsyncDirectory, readJson, writeJson } from '../durable/file.ts';
import { systemCode } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';

/** The proof that a store holds a release whole: written only after every byte of it was hashed there. */
export interface WholeRecord {
  readonly formatVersion: 1;
  /** The bundle's name. */
  readonly name: string;
  /** Identity: digest of the bundle's signed manifest. */
  readonly bundleDigest: Digest;
  readonly version: string;
  readonly payload: Digest;
  /** Bytes of all its blobs, each counted once. */
  readonly bytes: number;
  /** RFC 3339. */
  readonly verifiedAt: string;
  /** The signed document: what images it has, where they come from, what it may be updated from. */
  readonly document: BundleDocument;
}

/** Records beside the store's `docker/`, so that they travel with a store that is preloaded. */
const folder = 'installed';

const suffix = '.json';

function recordPath(storeRoot: string, name: string): string {
  return join(storeRoot, folder, `${name}${suffix}`);
}

/** Every release that the store holds whole, by name. A file that is no record of ours counts as absent. */
export async function readWholeRecords(storeRoot: string): Promise<Map<string, WholeRecord>> {
  const records = new Map<string, WholeRecord>();
  let names: string[];
  try {
    names = await readdir(join(storeRoot, folder));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return records;
    throw error;
  }
  for (const file of names.sort()) {
    if (!file.endsWith(suffix) || file.startsWith('.')) continue;
    const name = file.slice(0, -suffix.length);
    const record = await readJson<WholeRecord>(recordPath(storeRoot, name)).catch(() => undefined);
    if (record?.formatVersion === 1 && record.name === name) records.set(name, record);
  }
  return records;
}

/** Durable when it returns. */
export async function writeWholeRecord(storeRoot: string, record: WholeRecord): Promise<void> {
  await writeJson(recordPath(storeRoot, record.name), record);
}

/** Takes the proof back, durably: before the first byte of the release is removed. */
export async function removeWholeRecord(storeRoot: string, name: string): Promise<void> {
  await rm(recordPath(storeRoot, name), { force: true });
  try {
    await fsyncDirectory(join(storeRoot, folder));
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}
