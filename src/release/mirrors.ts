import { hostPort } from '../http/client.ts';

/** One entry of ImageDigestMirrorSet.spec.imageDigestMirrors. */
export interface MirrorEntry {
  readonly source: string;
  readonly mirrors: readonly string[];
}

/** An image of a signed bundle document, as far as mirrors need it. */
interface MirroredImage {
  /** The repository as the payload names it, without tag and digest. */
  readonly source: string;
  /** Where it stands in every node's registry. */
  readonly repository: string;
}

/** Repositories that every bundle has; clients name them in the api-int form. */
const ownRepositories = ['openshift/release-images', 'openshift/release-bundles', 'openshift/release'];

export interface MirrorInput {
  readonly images: readonly MirroredImage[];
  /** Addresses of the control-plane nodes. */
  readonly addresses: readonly string[];
  readonly registryPort: number;
  /** Host of the api-int form, without the port; undefined where it is not known: mirrors are only ever added. */
  readonly apiInt: string | undefined;
}

/**
 * The entries that the releases at hand need: each source leads to every control-plane node, and so does the
 * api-int form, which need not be resolvable then. Sorted, so that the same input gives the same set.
 */
export function mirrorEntries(input: MirrorInput): MirrorEntry[] {
  const repositories = new Map<string, Set<string>>();
  const add = (source: string, repository: string) => {
    repositories.set(source, (repositories.get(source) ?? new Set()).add(repository));
  };
  if (input.apiInt !== undefined) {
    const host = hostPort(input.apiInt, input.registryPort);
    for (const repository of ownRepositories) add(`${host}/${repository}`, repository);
  }
  for (const image of input.images) add(image.source, image.repository);
  return [...repositories].sort(bySource).map(([source, targets]) => ({
    source,
    mirrors: [...targets]
      .sort()
      .flatMap((repository) =>
        input.addresses.map((address) => `${hostPort(address, input.registryPort)}/${repository}`),
      ),
  }));
}

function bySource([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : 1;
}

/**
 * What stands, and what is new behind it: entries and mirrors are only ever added, since taking one away drains
 * nodes. Returns `current` itself where nothing is new.
 */
export function addMirrors(
  current: readonly MirrorEntry[],
  wanted: readonly MirrorEntry[],
): readonly MirrorEntry[] {
  let changed = false;
  const merged = new Map(current.map((entry) => [entry.source, [...entry.mirrors]]));
  for (const entry of wanted) {
    const mirrors = merged.get(entry.source) ?? [];
    const missing = entry.mirrors.filter((mirror) => !mirrors.includes(mirror));
    if (missing.length === 0 && merged.has(entry.source)) continue;
    changed = true;
    merged.set(entry.source, [...mirrors, ...missing]);
  }
  if (!changed) return current;
  return [...merged].map(([source, mirrors]) => ({ source, mirrors }));
}
