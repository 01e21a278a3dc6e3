import type { CustomResourceDefinition } from '../api/core.ts';
import { openBundle, type VerifiedBundle } from '../bundle/bundle.ts';
import { readReleaseSignatures } from '../bundle/release-signatures.ts';
import { isSluiceError, messageOf, SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import { type Payload, readPayload } from '../payload/payload.ts';
import type { TrustedKey } from '../trust/keys.ts';
import { checkSetOf } from './check-set.ts';
import type { UnverifiedTarget, VerifiedTarget } from './facts.ts';

/** A bundle that some node reports: a claim, until its signature is verified. */
export interface BundleClaim {
  readonly name: string;
  readonly version: string;
  readonly bundleDigest: Digest;
  /** Digest of the payload. */
  readonly payload: Digest;
}

/** A release whose signature was verified, with all that is read from it. */
export interface Release {
  readonly version: string;
  readonly digest: Digest;
  /** The payload by digest, as the release itself names its repository. */
  readonly image: string;
  readonly bundle: VerifiedBundle;
}

export interface Releases {
  /** Errors: those of `openBundle`, and NotFound, Conflict. */
  byPayload(digest: Digest, claims: readonly BundleClaim[]): Promise<Release>;
  /** Its payload, and the OpenPGP signatures that it carries: all that gates look at. */
  contents(release: Release): Promise<ReleaseContents>;
  payload(release: Release): Promise<Payload>;
}

export interface ReleaseContents {
  readonly payload: Payload;
  readonly signatures: readonly Uint8Array[];
}

/** Verified releases kept: each is immutable, so that only a change of keys makes it look again. */
const cachedMax = 32;

/**
 * Opens releases through their signed bundles. What was verified once is kept, under the keys that verified it:
 * a digest cannot change its content, but a key can lose its trust.
 */
export function createReleases(
  content: ContentSource,
  trustedKeys: () => Promise<readonly TrustedKey[]>,
): Releases {
  const bundles = new Map<string, VerifiedBundle>();
  const payloads = new Map<Digest, Payload>();
  const signatures = new Map<Digest, readonly Uint8Array[]>();

  async function open(digest: Digest): Promise<VerifiedBundle> {
    const keys = await trustedKeys();
    const cacheKey = `${digest} ${keys
      .map((key) => key.fingerprint)
      .sort()
      .join(' ')}`;
    const held = bundles.get(cacheKey);
    if (held !== undefined) return held;
    const bundle = await openBundle(content, { digest }, keys);
    keep(bundles, cacheKey, bundle);
    return bundle;
  }

  return {
    async byPayload(digest, claims) {
      const matching = claims.filter((claim) => claim.payload === digest);
      let failure: unknown;
      for (const claim of matching) {
        try {
          const bundle = await open(claim.bundleDigest);
          if (bundle.document.payload === digest) return releaseOf(bundle);
        } catch (error) {
          failure ??= error;
        }
      }
      if (failure !== undefined) throw failure;
      throw new SluiceError('NotFound', `no signed bundle at hand holds the payload ${digest}`, {
        next: 'Attach media that carry the release: sluice media attach.',
      });
    },
    contents: async (release) => ({
      payload: await readWhole(release),
      signatures: await readSignatures(release),
    }),
    payload: readWhole,
  };

  async function readSignatures({ bundle }: Release): Promise<readonly Uint8Array[]> {
    const read = signatures.get(bundle.digest) ?? (await readReleaseSignatures(content, bundle.document));
    keep(signatures, bundle.digest, read);
    return read;
  }

  async function readWhole(release: Release): Promise<Payload> {
    const held = payloads.get(release.digest);
    if (held !== undefined) return held;
    const image = payloadImage(release.bundle);
    const payload = await readPayload(content, image.repository, release.digest);
    if (payload.version !== release.version) {
      throw new SluiceError(
        'InputInvalid',
        `the payload of ${release.version} says that it is ${payload.version}`,
      );
    }
    keep(payloads, release.digest, payload);
    return payload;
  }
}

/** What names a release: its payload's digest, its version, or both, which must agree then. */
export interface ReleaseWish {
  readonly digest?: Digest;
  readonly version?: string;
}

/** Errors: NotFound, Conflict (a version that several payloads claim), InputInvalid, and those of `openBundle`. */
export async function findRelease(
  releases: Releases,
  claims: readonly BundleClaim[],
  wish: ReleaseWish,
): Promise<Release> {
  const digest = wish.digest ?? digestOfVersion(claims, wish.version ?? '');
  const release = await releases.byPayload(digest, claims);
  if (wish.version !== undefined && release.version !== wish.version) {
    throw new SluiceError(
      'InputInvalid',
      `the payload ${digest} is ${release.version}, not ${wish.version}`,
      { next: 'Name the release by version or by image, or let both agree.' },
    );
  }
  return release;
}

function digestOfVersion(claims: readonly BundleClaim[], version: string): Digest {
  const digests = [
    ...new Set(claims.filter((claim) => claim.version === version).map((claim) => claim.payload)),
  ];
  const [digest] = digests;
  if (digest === undefined) {
    throw new SluiceError('NotFound', `no bundle at hand holds the version ${version}`, {
      next: 'Attach media that carry it: sluice media attach.',
    });
  }
  if (digests.length > 1) {
    throw new SluiceError(
      'Conflict',
      `version ${version}: there are multiple possible payloads (${digests.sort().join(', ')})`,
      { next: 'Name one by its image.' },
    );
  }
  return digest;
}

function releaseOf(bundle: VerifiedBundle): Release {
  const { version, payload } = bundle.document;
  return { version, digest: payload, image: `${payloadImage(bundle).source}@${payload}`, bundle };
}

function payloadImage(bundle: VerifiedBundle) {
  const image = bundle.document.images.find((each) => each.role === 'payload');
  if (image === undefined) throw new SluiceError('InputInvalid', `${bundle.document.name} names no payload`);
  return image;
}

function keep<K, V>(cache: Map<K, V>, key: K, value: V): void {
  cache.set(key, value);
  for (const oldest of cache.keys()) {
    if (cache.size <= cachedMax) return;
    cache.delete(oldest);
  }
}

/** The release as the gates look at it. */
export function targetFact(release: Release, contents: ReleaseContents | undefined): VerifiedTarget {
  const payload = contents?.payload;
  const { document, digest, signedBy } = release.bundle;
  return {
    verified: true,
    version: release.version,
    digest: release.digest,
    previous: document.previous,
    ...(payload?.kubernetesVersion === undefined ? {} : { kubernetesVersion: payload.kubernetesVersion }),
    ...(payload === undefined
      ? {}
      : { definitions: definitionsOf(payload), checkSet: checkSetOf(payload, document) }),
    bundle: { name: document.name, digest, signedBy: signedBy.name },
    ...(contents === undefined ? {} : { signatures: contents.signatures }),
  };
}

function definitionsOf(payload: Payload): Map<string, readonly string[]> {
  const definitions = new Map<string, readonly string[]>();
  for (const { object } of payload.manifests) {
    if (object.kind !== 'CustomResourceDefinition') continue;
    const { versions = [] } = (object as unknown as Partial<CustomResourceDefinition>).spec ?? {};
    const known = definitions.get(object.metadata.name) ?? [];
    // Feature sets bring variants of one definition: any that knows a version is enough.
    definitions.set(object.metadata.name, [...known, ...versions.map((version) => version.name)]);
  }
  return definitions;
}

/** Why a release could not be verified, as the gates look at it. */
export function unverifiedFact(error: unknown): UnverifiedTarget {
  if (!isSluiceError(error)) {
    return { verified: false, code: 'Internal', message: messageOf(error), next: '' };
  }
  return { verified: false, code: error.code, message: messageOf(error), next: error.next };
}
