import type { NodeUpdate } from '../api/resources.ts';
import type { Digest } from '../oci/digest.ts';

/** A release that some node holds or sees on its verified media. */
export interface KnownBundle {
  readonly name: string;
  readonly version: string;
  readonly bundleDigest: Digest;
  readonly payload: Digest;
  /** Nodes that hold it whole, sorted. */
  readonly heldBy: readonly string[];
  /** Nodes whose verified media carry it, sorted. */
  readonly mountedOn: readonly string[];
}

/** Every release at hand, by name; where nodes disagree about a name's content, one entry for each digest. */
export function bundlesOf(updates: readonly NodeUpdate[]): KnownBundle[] {
  const bundles = new Map<string, KnownBundle & { heldBy: string[]; mountedOn: string[] }>();
  for (const update of updates) {
    const node = update.metadata.name;
    const note = (entry: StatusEntry, where: 'heldBy' | 'mountedOn') => {
      const { name, bundleDigest, version, payload } = entry;
      if (bundleDigest === undefined || version === undefined || payload === undefined) return;
      const known = bundles.get(bundleDigest) ?? {
        name,
        version,
        bundleDigest: bundleDigest as Digest,
        payload: payload as Digest,
        heldBy: [],
        mountedOn: [],
      };
      // All that one node tells comes together, so that the last name is the only one that could be its own.
      if (known[where].at(-1) !== node) known[where].push(node);
      bundles.set(bundleDigest, known);
    };
    for (const entry of update.status?.store ?? []) note(entry, 'heldBy');
    for (const entry of update.status?.media ?? []) if (entry.verified) note(entry, 'mountedOn');
  }
  for (const bundle of bundles.values()) {
    bundle.heldBy.sort();
    bundle.mountedOn.sort();
  }
  return [...bundles.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

interface StatusEntry {
  readonly name: string;
  readonly bundleDigest?: string;
  readonly version?: string;
  readonly payload?: string;
}
