import { SluiceError } from '../errors/error.ts';
import { type Digest, isDigest } from '../oci/digest.ts';
import { parseYamlDocuments } from './yaml.ts';

/** Tags of one payload; real ones have about 200. */
const tagsMax = 2000;
/** On a tag: `name=version` pairs of what the image contains, comma-separated. */
export const buildVersionsAnnotation = 'io.openshift.build.versions';

/** One tag of an `image-references` file. */
export interface ReferenceTag {
  readonly name: string;
  /** The pull spec as the file has it. */
  readonly spec: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** An `image-references` file: an ImageStream, of a payload (JSON) or of an operator's manifests (YAML). */
export interface ImageReferences {
  /** `metadata.name`: in a payload its version. */
  readonly name: string | undefined;
  readonly tags: readonly ReferenceTag[];
}

/** Reads an `image-references` file. Errors: InputInvalid (the place is named), InputTooLarge. */
export function parseImageReferences(bytes: Uint8Array, where: string): ImageReferences {
  const [document, ...others] = parseYamlDocuments(bytes, where);
  if (others.length > 0) throw invalid(where, 'it has several documents');
  const stream = object(document, where, 'it');
  if (stream.kind !== 'ImageStream' || stream.apiVersion !== 'image.openshift.io/v1') {
    throw invalid(where, 'it is not an ImageStream of image.openshift.io/v1');
  }
  const metadata = stream.metadata === undefined ? {} : object(stream.metadata, where, 'metadata');
  if (metadata.name !== undefined && typeof metadata.name !== 'string') throw invalid(where, 'metadata.name');
  const spec = stream.spec === undefined ? {} : object(stream.spec, where, 'spec');
  const list = spec.tags ?? [];
  if (!Array.isArray(list)) throw invalid(where, 'spec.tags is not a list');
  if (list.length > tagsMax) throw new SluiceError('InputTooLarge', `${where} has more than ${tagsMax} tags`);
  const tags = new Map<string, ReferenceTag>();
  for (const [index, value] of list.entries()) {
    const tag = readTag(value, where, `spec.tags[${index}]`);
    if (tag === undefined) continue;
    if (tags.has(tag.name)) throw invalid(where, `the tag ${tag.name} stands there twice`);
    tags.set(tag.name, tag);
  }
  return { name: metadata.name, tags: [...tags.values()] };
}

/** A pull spec by digest, taken apart. Errors: InputInvalid. */
export function splitPullSpec(spec: string, where: string): { repository: string; digest: Digest } {
  const at = spec.lastIndexOf('@');
  const digest = spec.slice(at + 1);
  if (at <= 0 || !isDigest(digest))
    throw invalid(where, `${spec.slice(0, 200)} does not name its image by digest`);
  return { repository: spec.slice(0, at), digest };
}

/** Versions in the annotation `io.openshift.build.versions`: `kubernetes=1.34.1,kubectl=1.34.1`. */
export function buildVersions(text: string | undefined): ReadonlyMap<string, string> {
  const pairs = (text ?? '').split(',').map((pair) => pair.trim().split('='));
  return new Map(pairs.flatMap(([name, version]) => (name && version ? [[name, version]] : [])));
}

function readTag(value: unknown, where: string, at: string): ReferenceTag | undefined {
  const tag = object(value, where, at);
  if (typeof tag.name !== 'string' || tag.name === '') throw invalid(where, `${at} has no name`);
  // Tags that follow other tags carry no image of their own.
  if (tag.from === undefined || tag.from === null) return undefined;
  const from = object(tag.from, where, `${at}.from`);
  if (member(from, 'kind') !== 'DockerImage') return undefined;
  const spec = member(from, 'name');
  if (typeof spec !== 'string' || spec === '') throw invalid(where, `the tag ${tag.name} has no from.name`);
  const annotations =
    tag.annotations === undefined ? {} : object(tag.annotations, where, `${at}.annotations`);
  const texts = Object.entries(annotations).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return { name: tag.name, spec, annotations: Object.fromEntries(texts) };
}

/** Real operators write `Name`: the programs that read these files match names without regard to case. */
function member(value: Record<string, unknown>, name: string): unknown {
  const exact = value[name];
  if (exact !== undefined) return exact;
  return Object.entries(value).find(([key]) => key.toLowerCase() === name)?.[1];
}

function object(value: unknown, where: string, at: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw invalid(where, `${at} is not an object`);
}

function invalid(where: string, what: string): SluiceError {
  return new SluiceError('InputInvalid', `${where} cannot be used: ${what}`);
}
