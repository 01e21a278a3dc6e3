import { bundleRepository, isBundleName } from '../bundle/document.ts';
import { readRemovals, readWholeRecords, type WholeRecord } from '../copy/whole.ts';
import type { Digest } from '../oci/digest.ts';
import type { Store } from '../store/store.ts';

/** What stands in a store, as its records say it; nothing is hashed to know it. */
export interface StoreView {
  /** Releases that are whole, by name. */
  readonly records: ReadonlyMap<string, WholeRecord>;
  /** Names of releases whose removal has begun. */
  readonly removing: ReadonlySet<string>;
  /** Names of bundles that are there without a record: they came into the store otherwise. */
  readonly unrecorded: readonly string[];
  /** The identity that a name was bound to. */
  readonly bound: ReadonlyMap<string, Digest>;
}

export async function readStoreView(store: Store): Promise<StoreView> {
  const records = await readWholeRecords(store.root);
  const removing = new Set((await readRemovals(store.root)).keys());
  const bindings = await store.bindings();
  const tags = await store.tags(bundleRepository);
  return {
    records,
    removing,
    bound: new Map(bindings.map((binding) => [binding.name, binding.bundleDigest])),
    unrecorded: tags.filter((tag) => isBundleName(tag) && !records.has(tag) && !removing.has(tag)),
  };
}
