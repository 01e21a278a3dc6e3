import { isSluiceError, messageOf } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { parseReference } from '../oci/reference.ts';
import { newestFirst, tryVersion } from './version.ts';

/** ClusterVersion.spec.desiredUpdate, as people write it. */
export interface DesiredUpdate {
  readonly architecture?: string;
  readonly version?: string;
  readonly image?: string;
  readonly force?: boolean;
  /** `Preflight` only looks; served by some clusters. */
  readonly mode?: string;
}

/** A release by version and payload image (always by digest). */
export interface ReleaseName {
  readonly version: string;
  readonly image: string;
}

export type UpdateRequest =
  | { readonly kind: 'none' }
  | { readonly kind: 'invalid'; readonly message: string }
  | {
      readonly kind: 'release';
      readonly image: string;
      readonly digest: Digest;
      /** Where given, the version inside the payload must be this one. */
      readonly version?: string;
      readonly force: boolean;
      /** Only the preflight is asked for: no update may start. */
      readonly lookOnly: boolean;
    };

export interface RequestFacts {
  /** What may be asked for by version. */
  readonly available: readonly ReleaseName[];
  /** Newest first. A version in it may be asked for again: that is how an update is rolled back. */
  readonly history: readonly ReleaseName[];
}

/**
 * What desiredUpdate asks for: the table of image, version and architecture in the API's own text (image wins; a
 * version alone picks exactly one release; an architecture alone or beside an image is an error).
 */
export function readRequest(desired: DesiredUpdate | undefined, facts: RequestFacts): UpdateRequest {
  const request = readRelease(desired, facts);
  const mode = desired?.mode ?? '';
  if (request.kind !== 'release' || mode === '') return request;
  // A mode that this program does not know must not be taken for none: that would start the update.
  return mode === 'Preflight' ? { ...request, lookOnly: true } : invalid(`mode "${mode}" is not known`);
}

function readRelease(desired: DesiredUpdate | undefined, facts: RequestFacts): UpdateRequest {
  const version = desired?.version ?? '';
  const image = desired?.image ?? '';
  const architecture = desired?.architecture ?? '';
  const force = desired?.force === true;
  if (desired === undefined || (version === '' && image === '' && architecture === '' && !force)) {
    return { kind: 'none' };
  }
  if (architecture !== '' && image !== '') return invalid('cannot set both architecture and image');
  if (architecture !== '' && version === '') {
    return invalid('a version must be set where an architecture is set');
  }
  if (architecture !== '') {
    return invalid(
      `architecture ${architecture}: a release of another architecture is not reached by an update; leave it out`,
    );
  }
  if (version !== '' && tryVersion(version) === undefined) {
    return invalid(`version "${version}" is not a semantic version, such as 4.19.2`);
  }
  if (image !== '') return byImage(image, version, force);
  if (version !== '') return byVersion(version, force, facts);
  return invalid('version or image must be set');
}

function byImage(image: string, version: string, force: boolean): UpdateRequest {
  try {
    const { digest } = parseReference(image);
    if (digest === undefined) {
      return invalid(
        `image ${image} is not named by digest; release images that are not accessed via digest cannot be verified`,
      );
    }
    return { kind: 'release', image, digest, force, lookOnly: false, ...(version === '' ? {} : { version }) };
  } catch (error) {
    if (isSluiceError(error)) return invalid(`image ${image}: ${messageOf(error)}`);
    throw error;
  }
}

function byVersion(version: string, force: boolean, facts: RequestFacts): UpdateRequest {
  const matches = new Map<string, ReleaseName>();
  for (const release of [...facts.available, ...facts.history]) {
    if (release.version !== version) continue;
    matches.set(release.image.slice(release.image.indexOf('@') + 1), release);
  }
  if (matches.size > 1) {
    return invalid(
      `version ${version}: there are multiple possible payloads (${[...matches.keys()].sort().join(', ')}); name one by image`,
    );
  }
  for (const release of matches.values()) return byImage(release.image, version, force);
  return invalid(`version ${version} must be an available update; ${known(facts.available)}`);
}

function known(available: readonly ReleaseName[]): string {
  if (available.length === 0) {
    return 'none is available: attach media with a release that this version may go to';
  }
  const versions = [...new Set(available.map((release) => release.version))].sort(newestFirst);
  return `available: ${versions.join(', ')}`;
}

function invalid(message: string): UpdateRequest {
  return { kind: 'invalid', message };
}
