import { isDeepStrictEqual } from 'node:util';

/**
 * Merges what a manifest states into what stands, as the cluster-version operator does for payload manifests:
 * fields that the manifest does not name keep their value, maps merge key by key, and lists
 * - whose elements have a known key merge by it (`listKeys`): elements of ours are set, others' stay;
 * - else are replaced as a whole.
 * A field is never removed because the manifest no longer names it.
 */
export function mergeManifest(live: unknown, manifest: unknown, path: readonly string[] = []): unknown {
  if (isObject(manifest)) {
    if (!isObject(live)) return manifest;
    const merged: Record<string, unknown> = { ...live };
    for (const [key, value] of Object.entries(manifest)) {
      // Field names come from a payload's YAML: `__proto__` as a key is data, never a prototype.
      Object.defineProperty(merged, key, {
        value: mergeManifest(Object.hasOwn(live, key) ? live[key] : undefined, value, [...path, key]),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return merged;
  }
  if (Array.isArray(manifest)) {
    const keys = listKey(path);
    if (keys === undefined || !Array.isArray(live)) return manifest;
    return mergeList(live, manifest, keys, path);
  }
  return manifest;
}

/** Lists that several parties share, and what tells their elements apart. All others are one value. */
const listKeys: readonly {
  readonly field: string;
  readonly below?: string;
  readonly keys: readonly string[];
}[] = [
  { field: 'containers', below: 'spec', keys: ['name'] },
  { field: 'initContainers', below: 'spec', keys: ['name'] },
  { field: 'volumes', below: 'spec', keys: ['name'] },
  { field: 'env', keys: ['name'] },
  { field: 'volumeMounts', keys: ['mountPath'] },
  { field: 'ownerReferences', below: 'metadata', keys: ['uid'] },
  { field: 'subjects', keys: ['kind', 'namespace', 'name'] },
  { field: 'imagePullSecrets', keys: ['name'] },
];

function listKey(path: readonly string[]): readonly string[] | undefined {
  const field = path.at(-1);
  const parent = path.at(-2);
  return listKeys.find(
    (entry) => entry.field === field && (entry.below === undefined || entry.below === parent),
  )?.keys;
}

function mergeList(
  live: readonly unknown[],
  manifest: readonly unknown[],
  keys: readonly string[],
  path: readonly string[],
): unknown[] {
  const merged = [...live];
  for (const item of manifest) {
    const index = merged.findIndex((candidate) => sameKey(candidate, item, keys));
    if (index === -1) merged.push(item);
    else merged[index] = mergeManifest(merged[index], item, path);
  }
  return merged;
}

function sameKey(a: unknown, b: unknown, keys: readonly string[]): boolean {
  return isObject(a) && isObject(b) && keys.every((key) => a[key] === b[key]);
}

/** Whether a merge would change anything. */
export function sameValue(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
