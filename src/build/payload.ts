import { join } from 'node:path';
import { compare, valid } from 'semver';
import { SluiceError } from '../errors/error.ts';
import type { Descriptor } from '../oci/manifest.ts';
import { parseReference } from '../oci/reference.ts';
import { releaseDirectory } from '../payload/files.ts';
import { metadataKind } from '../payload/metadata.ts';
import { buildVersions, buildVersionsAnnotation } from '../payload/references.ts';
import { anyConfig, isOsImage } from './config.ts';
import { buildImage, type ImageFile } from './image.ts';
import { type Taken, takenOf } from './left-out.ts';
import { nearName } from './near-name.ts';
import { type OperatorManifests, payloadFileNames, readOperatorManifests } from './operator.ts';
import type { RegistryAccess } from './registry-source.ts';
import { createSourceOpener, imageOf } from './source.ts';
import {
  type ComponentVersions,
  isPlaceholder,
  leftPlaceholder,
  substituteImages,
  substituteVersions,
} from './substitute.ts';
import type { LayoutTarget } from './target.ts';

/** Repository by which a payload names images whose operators name only a placeholder. It is never dialled. */
export const repositoryDefault = 'release.sluice.internal/openshift/release';

/** Labels of an image that a payload repeats as annotations of its tag. */
const repeatedLabels = [
  buildVersionsAnnotation,
  'io.openshift.build.version-display-names',
  'io.openshift.build.commit.id',
  'io.openshift.build.commit.ref',
  'io.openshift.build.source-location',
];

export interface BuildPayloadOptions {
  readonly version: string;
  /** Versions from which an update to this one is allowed. */
  readonly previous: readonly string[];
  /** Directories of manifests, one for each operator. */
  readonly manifests: readonly string[];
  /** Tag name → source (`oci:DIR:REF`). */
  readonly images: ReadonlyMap<string, string>;
  /** A source; the payload is put upon it. */
  readonly base?: string;
  /** For images whose operator names a placeholder; default `repositoryDefault`. */
  readonly repository?: string;
  readonly channels?: readonly string[];
  readonly url?: string;
  readonly out: LayoutTarget;
  /** Where archives are unpacked. */
  readonly scratch: string;
  /** How registries are reached; default: as the environment says. */
  readonly access?: RegistryAccess;
}

export interface BuiltPayload extends Taken {
  readonly descriptor: Descriptor;
  readonly version: string;
  /** Tag name → pull spec by digest. */
  readonly images: ReadonlyMap<string, string>;
  /** Names of the manifest files. */
  readonly files: readonly string[];
  /** Tags that were given and that no operator names; what nodes boot is found by its labels and needs no name. */
  readonly unnamed: readonly string[];
}

interface ReleaseImage {
  readonly tag: string;
  readonly pullSpec: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly architecture: string;
}

/**
 * Builds a release payload, in the format of `oc adm release new`: the manifests of operators with their images by
 * digest, `image-references` and `release-metadata`.
 *
 * Errors: InputInvalid, ReferenceUnresolved (an image without a source, or without a tag), NotFound, ContentMissing, DiskFull.
 */
export async function buildPayload(options: BuildPayloadOptions): Promise<BuiltPayload> {
  checkVersions(options);
  const operators = await Promise.all(options.manifests.map(readOperatorManifests));
  const opener = createSourceOpener(options.scratch, options.access);
  try {
    requireSources(operators, options.images);
    const images = new Map<string, ReleaseImage>();
    for (const [tag, text] of [...options.images].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const source = await opener.open(text);
      const digest = await imageOf(source, `image ${tag}`);
      const config = await anyConfig(source.content, source.repository, digest);
      const pullSpec = `${repositoryOf(tag, operators, options.repository ?? repositoryDefault)}@${digest}`;
      images.set(tag, {
        tag,
        pullSpec,
        labels: config?.labels ?? {},
        architecture: config?.architecture ?? '',
      });
    }
    const { manifests, whereOf } = payloadManifests(operators, images, options.version);
    const digests = new Set([...images.values()].map(({ pullSpec }) => pullSpec.split('@')[1] ?? ''));
    const taken = takenOf(manifests, digests, (file) => whereOf.get(file) ?? file);
    const base = options.base === undefined ? undefined : await opener.open(options.base);
    const architecture = [...images.values()].map((each) => each.architecture).find((each) => each !== '');
    const descriptor = await buildImage({
      out: options.out,
      files: releaseFiles(options, images, manifests),
      directoryMode: 0o777, // As `oc adm release new` has it.
      config: { labels: { 'io.openshift.release': options.version } },
      ...(base === undefined
        ? {}
        : {
            base: {
              content: base.content,
              repository: base.repository,
              digest: await imageOf(base, 'the base'),
            },
          }),
      ...(architecture === undefined ? {} : { architecture }),
    });
    const pullSpecs = new Map([...images.values()].map((image) => [image.tag, image.pullSpec]));
    const { version } = options;
    const unnamed = unnamedTags(operators, images);
    return { descriptor, version, images: pullSpecs, files: [...manifests.keys()], unnamed, ...taken };
  } finally {
    await opener.close();
  }
}

function checkVersions(options: BuildPayloadOptions): void {
  for (const version of [options.version, ...options.previous]) {
    if (valid(version) === null) {
      throw new SluiceError('Usage', `"${version}" is not a semantic version`, {
        next: 'Write it as 4.21.3 or 4.22.0-rc.1.',
      });
    }
  }
  if (options.previous.includes(options.version)) {
    throw new SluiceError('Usage', `${options.version} cannot be its own previous version`);
  }
}

function requireSources(operators: readonly OperatorManifests[], images: ReadonlyMap<string, string>): void {
  const missing = operators.flatMap((operator) =>
    operator.tags.filter((tag) => !images.has(tag.name)).map((tag) => `${tag.name} (${operator.component})`),
  );
  if (missing.length === 0) return;
  throw new SluiceError('ReferenceUnresolved', `no source is given for ${[...new Set(missing)].join(', ')}`, {
    next: `${misspelt(operators, images)}Give one for each: --image TAG=oci:DIR:REF.`,
  });
}

/** Says of each name that was given and is no tag so, with the tag without a source that it may have been meant for. */
function misspelt(operators: readonly OperatorManifests[], images: ReadonlyMap<string, string>): string {
  const tags = new Set(operators.flatMap((operator) => operator.tags.map((tag) => tag.name)));
  const missing = [...tags].filter((tag) => !images.has(tag));
  return [...images.keys()]
    .filter((name) => !tags.has(name))
    .map((name) => {
      const near = nearName(name, missing);
      return `${name} is no tag of image-references${near === undefined ? '' : `; did you mean ${near}?`}`;
    })
    .map((words) => (words.endsWith('?') ? `${words} ` : `${words}. `))
    .join('');
}

/** The repository by which the first operator that names it knows an image. */
function repositoryOf(tag: string, operators: readonly OperatorManifests[], otherwise: string): string {
  for (const operator of operators) {
    const spec = operator.tags.find((each) => each.name === tag)?.spec;
    if (spec === undefined || isPlaceholder(spec)) continue;
    const { host, repository } = parseReference(spec);
    return `${host}/${repository}`;
  }
  return otherwise;
}

function unnamedTags(
  operators: readonly OperatorManifests[],
  images: ReadonlyMap<string, ReleaseImage>,
): string[] {
  const named = new Set(operators.flatMap((operator) => operator.tags.map((tag) => tag.name)));
  return [...images.values()]
    .filter(({ tag, labels }) => !named.has(tag) && !isOsImage(labels))
    .map(({ tag }) => tag);
}

/** Names of the files in the payload → their text with images and versions filled in, and where each comes from. */
function payloadManifests(
  operators: readonly OperatorManifests[],
  images: ReadonlyMap<string, ReleaseImage>,
  version: string,
): { manifests: Map<string, string>; whereOf: Map<string, string> } {
  const taken = new Set<string>();
  const whereOf = new Map<string, string>();
  const manifests = new Map<string, string>();
  for (const operator of operators) {
    const specs = new Map<string, string>();
    for (const tag of operator.tags) {
      const pullSpec = images.get(tag.name)?.pullSpec ?? '';
      if (specs.has(tag.spec) && specs.get(tag.spec) !== pullSpec) {
        throw new SluiceError(
          'InputInvalid',
          `${operator.directory}/image-references: two tags are ${tag.spec}`,
        );
      }
      specs.set(tag.spec, pullSpec);
    }
    const versions = componentVersions(operator, images);
    for (const [file, name] of payloadFileNames(operator, taken)) {
      const where = join(operator.directory, file);
      whereOf.set(name, where);
      const text = substituteImages(operator.files.get(file) ?? '', specs);
      manifests.set(name, substituteVersions(text, version, versions, where));
      const left = leftPlaceholder(manifests.get(name) ?? '');
      if (left === undefined) continue;
      throw new SluiceError('ReferenceUnresolved', `${where}: ${left} is in no tag of image-references`);
    }
  }
  return { manifests, whereOf };
}

function componentVersions(
  operator: OperatorManifests,
  images: ReadonlyMap<string, ReleaseImage>,
): ComponentVersions {
  const versions = new Map<string, string | undefined>();
  for (const tag of operator.tags) {
    for (const [name, version] of buildVersions(images.get(tag.name)?.labels[buildVersionsAnnotation])) {
      versions.set(name, versions.has(name) && versions.get(name) !== version ? undefined : version);
    }
  }
  return versions;
}

function releaseFiles(
  options: BuildPayloadOptions,
  images: ReadonlyMap<string, ReleaseImage>,
  manifests: ReadonlyMap<string, string>,
): ImageFile[] {
  const texts = new Map(manifests);
  texts.set('image-references', imageReferences(options.version, [...images.values()]));
  texts.set('release-metadata', releaseMetadata(options));
  return [...texts].map(([name, data]) => ({ path: `${releaseDirectory}/${name}`, mode: 0o444, data }));
}

function imageReferences(version: string, images: readonly ReleaseImage[]): string {
  const tags = images.map((image) => {
    const labels = repeatedLabels.flatMap((label) => {
      const value = image.labels[label];
      return value === undefined ? [] : [[label, value]];
    });
    return {
      name: image.tag,
      annotations: Object.fromEntries(labels) as Record<string, string>,
      from: { kind: 'DockerImage', name: image.pullSpec },
    };
  });
  const stream = {
    kind: 'ImageStream',
    apiVersion: 'image.openshift.io/v1',
    metadata: { name: version },
    spec: { lookupPolicy: { local: false }, tags },
  };
  return `${JSON.stringify(stream, null, 2)}\n`;
}

function releaseMetadata(options: BuildPayloadOptions): string {
  const channels = options.channels ?? [];
  const metadata = {
    ...(options.url === undefined ? {} : { url: options.url }),
    ...(channels.length === 0 ? {} : { 'io.openshift.upgrades.graph.release.channels': channels.join(',') }),
  };
  const document = {
    kind: metadataKind,
    version: options.version,
    previous: [...new Set(options.previous)].sort(compare),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
