import { valid } from 'semver';
import { SluiceError } from '../errors/error.ts';
import { parseStrictJson } from '../oci/json.ts';

const previousMax = 4096;
export const metadataKind = 'cincinnati-metadata-v0';

/** A payload's `release-metadata`. */
export interface ReleaseMetadata {
  readonly version: string;
  /** Versions from which an update to this one is allowed. */
  readonly previous: readonly string[];
  readonly next: readonly string[];
  readonly channels: readonly string[];
  readonly url: string | undefined;
  readonly description: string | undefined;
  /** `multi` where the payload says so. */
  readonly architecture: string | undefined;
}

/** Reads `release-metadata`. Errors: InputInvalid (the place is named). */
export function parseReleaseMetadata(bytes: Uint8Array): ReleaseMetadata {
  const document = parseStrictJson(bytes, 'release-metadata');
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw invalid('it is not an object');
  const { kind, version, previous, next, metadata } = document as Record<string, unknown>;
  if (kind !== metadataKind) throw invalid(`its kind is not ${metadataKind}`);
  if (typeof version !== 'string' || valid(version) !== version.replace(/\+.*$/, '')) {
    throw invalid('its version is not a semantic version');
  }
  const texts = metadata === undefined || metadata === null ? {} : (metadata as Record<string, unknown>);
  return {
    version,
    previous: versions(previous, 'previous'),
    next: versions(next, 'next'),
    channels: (text(texts['io.openshift.upgrades.graph.release.channels']) ?? '')
      .split(',')
      .flatMap((each) => {
        const channel = each.trim();
        return channel === '' ? [] : [channel];
      }),
    url: text(texts.url),
    description: text(texts.description),
    architecture: text(texts['release.openshift.io/architecture']),
  };
}

function versions(value: unknown, where: string): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.length > previousMax)
    throw invalid(`${where} is not a list of versions`);
  return value.map((each: unknown) => {
    if (typeof each !== 'string' || valid(each) === null) throw invalid(`${where} holds what is no version`);
    return each;
  });
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function invalid(what: string): SluiceError {
  return new SluiceError('InputInvalid', `release-metadata cannot be used: ${what}`);
}
