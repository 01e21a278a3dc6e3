import { annotations } from '../api/names.ts';
import { readManifests } from '../payload/manifest.ts';

const includePrefix = 'include.release.openshift.io/';

/**
 * Objects of a payload that no cluster will take, and files that none can read, in words: whoever builds a release wants
 * to know while he can still mend it. Checks need no annotation of inclusion: they are never applied.
 *
 * @param files names of the files in the payload → their text.
 */
export function leftOut(files: ReadonlyMap<string, string>): { excluded: string[]; unreadable: string[] } {
  const bytes = new Map([...files].map(([name, text]) => [name, Buffer.from(text)]));
  const { manifests, problems } = readManifests(bytes);
  const excluded = manifests.flatMap(({ file, object }) => {
    const given = object.metadata.annotations ?? {};
    const isIncluded = Object.entries(given).some(
      ([key, value]) => key.startsWith(includePrefix) && value === 'true',
    );
    if (isIncluded || given[annotations.preflightCheck] === 'true') return [];
    const { name, namespace } = object.metadata;
    return [`${object.kind} ${namespace === undefined ? '' : `${namespace}/`}${name} (${file})`];
  });
  return { excluded, unreadable: problems.map(({ file, problem }) => `${file}: ${problem}`) };
}
