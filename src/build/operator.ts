import { readdir, readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { messageOf, SluiceError, systemCode } from '../errors/error.ts';
import { isManifestFile, parseRunLevel } from '../payload/manifest.ts';
import { parseImageReferences, type ReferenceTag } from '../payload/references.ts';

const componentForm = /^[a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*$/;

/** What one operator contributes to a payload: one directory of manifests. */
export interface OperatorManifests {
  readonly directory: string;
  /** Name of the directory. */
  readonly component: string;
  /** Tags of its `image-references`; none where it has no such file. */
  readonly tags: readonly ReferenceTag[];
  /** By file name. */
  readonly files: ReadonlyMap<string, string>;
}

/** Reads a directory of manifests; directories below it are left out. Errors: NotFound, InputInvalid. */
export async function readOperatorManifests(directory: string): Promise<OperatorManifests> {
  const component = basename(resolve(directory));
  if (!componentForm.test(component)) {
    throw new SluiceError(
      'InputInvalid',
      `${directory}: "${component}" cannot be the name of a component: use letters, digits and dashes`,
    );
  }
  const names = await list(directory);
  const files = new Map<string, string>();
  for (const name of names.filter(isManifestFile))
    files.set(name, await readFile(join(directory, name), 'utf8'));
  if (files.size === 0)
    throw new SluiceError('InputInvalid', `${directory} holds no .yaml, .yml or .json file`);
  if (!names.includes('image-references')) return { directory, component, tags: [], files };
  const path = join(directory, 'image-references');
  return { directory, component, tags: parseImageReferences(await readFile(path), path).tags, files };
}

/**
 * Names of an operator's files in the payload: `0000_50_<component>_<file>` where a file has no run level; a name
 * that is taken already gains `_1`, `_2`, … before its ending.
 *
 * @param taken names in use, which the new ones are added to.
 */
export function payloadFileNames(operator: OperatorManifests, taken: Set<string>): Map<string, string> {
  const names = new Map<string, string>();
  for (const file of [...operator.files.keys()].sort()) {
    const wanted = parseRunLevel(file) === undefined ? `0000_50_${operator.component}_${file}` : file;
    const dot = wanted.lastIndexOf('.');
    let name = wanted;
    for (let count = 1; taken.has(name); count += 1)
      name = `${wanted.slice(0, dot)}_${count}${wanted.slice(dot)}`;
    taken.add(name);
    names.set(file, name);
  }
  return names;
}

async function list(directory: string): Promise<string[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.filter((entry) => entry.isFile() || entry.isSymbolicLink()).map((entry) => entry.name);
  } catch (error) {
    const what = systemCode(error) === 'ENOENT' ? 'does not exist' : `cannot be read: ${messageOf(error)}`;
    throw new SluiceError('NotFound', `the directory of manifests ${directory} ${what}`, { cause: error });
  }
}
