import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BuiltBundle, buildBundle } from '../src/build/bundle.ts';
import { buildImage, type ImageFile, type ImageRunConfig } from '../src/build/image.ts';
import { buildPayload } from '../src/build/payload.ts';
import type { BundleRole } from '../src/bundle/document.ts';
import { problemsOf, verifyMedia } from '../src/bundle/medium.ts';
import type { VerifyProblem } from '../src/bundle/verify.ts';
import { openMedia } from '../src/media/media.ts';
import type { Digest } from '../src/oci/digest.ts';
import {
  generateSigningKey,
  parseTrustedKey,
  type SigningKeyPair,
  type TrustedKey,
} from '../src/trust/keys.ts';

/** Repository of the images of test releases, followed by the tag name. */
export const testRepository = 'images.test.example/sluice';

export interface ReleaseOptions {
  readonly version: string;
  readonly previous?: readonly string[];
  /** A directory for everything: the bundle is `<dir>/bundle-<version>`, or `out`. */
  readonly dir: string;
  readonly key: SigningKeyPair;
  /** Tag name → what the image holds; default one image `web`. Its repository is `testRepository`/tag. */
  readonly images?: Readonly<Record<string, { files?: readonly ImageFile[]; config?: ImageRunConfig }>>;
  /** Component → file name → text. Images are written as `images.test.example/sluice/<tag>`. */
  readonly manifests?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Directories of operators as they are, with `image-references` of their own, beside `manifests`. */
  readonly operators?: readonly string[];
  /** Bytes of an incompressible file in each image, made from the version and the tag; default 1000. */
  readonly blobBytes?: number;
  /** Where the bundle is written: a directory, `.iso` or `.tar`. */
  readonly out?: string;
  /** Source of the image that the payload is built upon: one with `cp`, where the release has preflight checks. */
  readonly base?: string;
  /** More images of the bundle: name → source. */
  readonly others?: ReadonlyMap<string, string>;
  /** Roles of those. */
  readonly roles?: ReadonlyMap<string, BundleRole>;
}

export interface TestRelease extends BuiltBundle {
  /** Path of the bundle. */
  readonly path: string;
  readonly name: string;
  readonly payload: Digest;
  /** Tag name → source of the image, `oci:DIR:REF`. */
  readonly sources: ReadonlyMap<string, string>;
  readonly payloadSource: string;
}

/** A new key and how it is trusted. */
export function testKey(name = 'test'): { pair: SigningKeyPair; trusted: TrustedKey } {
  const pair = generateSigningKey();
  return { pair, trusted: parseTrustedKey(name, pair.publicPem) };
}

/** Builds a small release, really: images, payload, signed bundle. */
export async function makeRelease(options: ReleaseOptions): Promise<TestRelease> {
  const { version, dir } = options;
  const images = options.images ?? { web: {} };
  const layout = join(dir, `images-${version}`);
  const sources = new Map<string, string>();
  for (const [tag, image] of Object.entries(images)) {
    await buildImage({
      out: { directory: layout, reference: tag },
      files: [
        { path: '/data', data: noise(`${version} ${tag}`, options.blobBytes ?? 1000) },
        ...(image.files ?? []),
      ],
      ...(image.config === undefined ? {} : { config: image.config }),
    });
    sources.set(tag, `oci:${layout}:${tag}`);
  }
  const built = await buildPayload({
    version,
    previous: options.previous ?? [],
    manifests: [
      ...(await writeManifests(join(dir, `manifests-${version}`), options, [...sources.keys()])),
      ...(options.operators ?? []),
    ],
    images: sources,
    ...(options.base === undefined ? {} : { base: options.base }),
    out: { directory: join(dir, `payload-${version}`), reference: version },
    scratch: join(dir, 'scratch'),
  });
  const payloadSource = `oci:${join(dir, `payload-${version}`)}:${version}`;
  const path = options.out ?? join(dir, `bundle-${version}`);
  const bundle = await buildBundle({
    payload: payloadSource,
    images: new Map([...sources, ...(options.others ?? [])]),
    ...(options.roles === undefined ? {} : { roles: options.roles }),
    privatePem: options.key.privatePem,
    out: path,
  });
  return {
    ...bundle,
    path,
    name: bundle.document.name,
    payload: built.descriptor.digest,
    sources,
    payloadSource,
  };
}

async function writeManifests(
  root: string,
  options: ReleaseOptions,
  tags: readonly string[],
): Promise<string[]> {
  const manifests = options.manifests ?? { web: { 'namespace.yaml': namespaceManifest } };
  const directories: string[] = [];
  for (const [component, files] of Object.entries(manifests)) {
    const directory = join(root, component);
    await mkdir(directory, { recursive: true });
    for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
    await writeFile(join(directory, 'image-references'), imageReferences(tags));
    directories.push(directory);
  }
  return directories;
}

function imageReferences(tags: readonly string[]): string {
  const list = tags.map((name) => ({
    name,
    from: { kind: 'DockerImage', name: `${testRepository}/${name}` },
  }));
  return JSON.stringify({ kind: 'ImageStream', apiVersion: 'image.openshift.io/v1', spec: { tags: list } });
}

const namespaceManifest = `apiVersion: v1
kind: Namespace
metadata:
  name: web
  annotations:
    include.release.openshift.io/self-managed-high-availability: "true"
`;

/** Bytes that do not compress, the same for the same seed. */
export function noise(seed: string, bytes: number): Uint8Array {
  const chunks: Buffer[] = [];
  for (let index = 0; index * 32 < bytes; index += 1) {
    chunks.push(createHash('sha256').update(`${seed} ${index}`).digest());
  }
  return Buffer.concat(chunks).subarray(0, bytes);
}

/** What a person who trusts one key finds wrong on media. */
export async function problemsOn(path: string, key: TrustedKey): Promise<VerifyProblem[]> {
  const media = await openMedia(path);
  try {
    return problemsOf(await verifyMedia(media, [key]));
  } finally {
    await media.close();
  }
}
