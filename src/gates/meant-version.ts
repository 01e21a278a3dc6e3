import { newestFirst } from './version.ts';

/**
 * What a person who has named a version that is not there may have meant: written with a v, in part, or by the name of
 * its bundle; or the newest, by a word. A sentence; undefined where nothing is near. Pure.
 *
 * @param versions those that there are, in any order.
 */
export function meantVersion(text: string, versions: readonly string[]): string | undefined {
  const [newest, ...older] = [...versions].sort(newestFirst);
  if (newest === undefined) return undefined;
  if (/^(?:latest|newest|stable|current)$/i.test(text)) {
    return `"${text}" is no version: the newest at hand is ${newest} (sluice upgrade --to-latest goes to the newest that may be gone to).`;
  }
  const plain = text
    .trim()
    .replace(/^ocp-release-bundle-(.*)-[^-]+$/, '$1')
    .replace(/^v/i, '');
  const near = [newest, ...older].filter((each) => each === plain || startsWith(each, plain));
  return near.length === 0 ? undefined : `Did you mean ${near.join(' or ')}?`;
}

/** `1.1` or `1.1.0` of `1.1.0-rc.1`: whole parts, not `1.1` of `1.10.0`. */
function startsWith(version: string, part: string): boolean {
  return /^\d/.test(part) && version.startsWith(part) && /^[.-]/.test(version.slice(part.length));
}
