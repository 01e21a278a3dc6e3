import type { AnyObject } from '../api/core.ts';
import { messageOf } from '../errors/error.ts';
import { parseYamlDocuments } from './yaml.ts';

/** One object of a payload. */
export interface PayloadManifest {
  /** Name of its file in /release-manifests. */
  readonly file: string;
  /** Which document of the file it is, from 0. */
  readonly index: number;
  /** `NN` of `0000_NN_<component>_…`; undefined where the name has no such form: it is then applied alone. */
  readonly runLevel: number | undefined;
  readonly component: string | undefined;
  readonly object: AnyObject;
}

/** A file, or an object in it, that cannot be used: it is left out, and whoever relies on all of them must stop. */
export interface PayloadProblem {
  readonly file: string;
  readonly problem: string;
}

const fileForm = /^0000_(\d\d)_([a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*)_/;
const manifestForm = /\.(?:yaml|yml|json)$/;
/** An object with and without these can stand twice in one file: only one of the two is included. */
const filterAnnotation =
  /^(?:include|exclude)\.release\.openshift\.io\/|^release\.openshift\.io\/(?:feature-|major-)|^capability\.openshift\.io\/name$/;

/** Whether a file of /release-manifests holds objects; `image-references` and `release-metadata` do not. */
export function isManifestFile(name: string): boolean {
  return manifestForm.test(name);
}

/** Run level and component in the name of a file; undefined where it has no such form. */
export function parseRunLevel(name: string): { runLevel: number; component: string } | undefined {
  const match = fileForm.exec(name);
  if (match === null) return undefined;
  return { runLevel: Number(match[1]), component: match[2] ?? '' };
}

/**
 * The objects of a payload's files, in the order in which they are applied: by file name, byte by byte, then as
 * they stand in the file.
 */
export function readManifests(files: ReadonlyMap<string, Uint8Array>): {
  manifests: PayloadManifest[];
  problems: PayloadProblem[];
} {
  const manifests: PayloadManifest[] = [];
  const problems: PayloadProblem[] = [];
  for (const [file, bytes] of [...files].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))) {
    if (!isManifestFile(file)) continue;
    let documents: unknown[];
    try {
      documents = parseYamlDocuments(bytes, file);
    } catch (error) {
      // The file stands beside the problem: once is enough.
      problems.push({ file, problem: messageOf(error).replace(`${file} `, 'it ') });
      continue;
    }
    const seen = new Set<string>();
    for (const [index, value] of documents.entries()) {
      const object = asObject(value);
      const problem =
        object === undefined ? `document ${index + 1} has no kind or no name` : repeated(object, seen);
      if (problem !== undefined) problems.push({ file, problem });
      else if (object !== undefined) manifests.push({ file, index, ...levelOf(file), object });
    }
  }
  return { manifests, problems };
}

function levelOf(file: string): { runLevel: number | undefined; component: string | undefined } {
  return parseRunLevel(file) ?? { runLevel: undefined, component: undefined };
}

function asObject(value: unknown): AnyObject | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { apiVersion, kind, metadata } = value as Partial<AnyObject>;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof metadata?.name !== 'string')
    return undefined;
  return apiVersion !== '' && kind !== '' && metadata.name !== '' ? (value as AnyObject) : undefined;
}

function repeated(object: AnyObject, seen: Set<string>): string | undefined {
  const { name, namespace = '', annotations = {} } = object.metadata;
  const group = object.apiVersion.includes('/') ? object.apiVersion.split('/')[0] : '';
  const filters = Object.entries(annotations).filter(([key]) => filterAnnotation.test(key));
  const key = JSON.stringify([group, object.kind, namespace, name, filters.sort()]);
  if (seen.has(key))
    return `${object.kind} ${namespace === '' ? '' : `${namespace}/`}${name} stands there twice`;
  seen.add(key);
  return undefined;
}
