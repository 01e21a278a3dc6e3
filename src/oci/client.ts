import { messageOf, SluiceError, systemCode } from '../errors/error.ts';
import type { HttpClient, HttpResponse } from '../http/client.ts';
import type { Authorizer } from './authorizer.ts';
import { type Digest, digestOf, isDigest, referrersTag } from './digest.ts';
import { createExchange, type Get } from './exchange.ts';
import { parseStrictJson } from './json.ts';
import { nextPage } from './link.ts';
import {
  type Descriptor,
  manifestBytesMax,
  manifestTypes,
  parseManifest,
  parseManifestOf,
} from './manifest.ts';
import { isRepositoryName, isTag } from './reference.ts';
import type { BlobOptions, BlobReader, ContentSource, RawManifest } from './source.ts';

export interface RegistryClientOptions {
  /** 'https://host:port', without a path. */
  readonly baseUrl: string;
  readonly http: HttpClient;
  /** Sent to this very host and port only. */
  readonly auth?: { readonly username: string; readonly password: string };
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Finds credentials when the registry asks for some, instead of `auth`. */
  readonly authorizer?: Authorizer;
  /** See ExchangeOptions. */
  readonly redirectsAnywhere?: boolean;
  readonly retriesMax?: number;
}

const pagesMax = 1_000;
const listedMax = 200_000;
const pageBytesMax = 4 * 1024 * 1024;

/**
 * Reads from a registry of distribution-spec 1.1. What the answer's head says about the content is never believed:
 * the digest is that of the bytes.
 */
export function createRegistryClient(options: RegistryClientOptions): ContentSource {
  const origin = new URL(options.baseUrl).origin;
  const label = `the registry ${origin}`;
  const get = createExchange({ ...options, origin, label });

  /** Reads every page of a list; `collect` takes one. False where the list does not exist. */
  async function pages(first: string, collect: (page: unknown) => number): Promise<boolean> {
    const seen = new Set<string>();
    let listed = 0;
    for (let path: string | undefined = first; path !== undefined; ) {
      if (seen.has(path) || seen.size >= pagesMax || listed > listedMax) {
        throw new SluiceError('InputTooLarge', `${label} does not end its list ${first}`);
      }
      seen.add(path);
      const answer = await get(path);
      if (answer.status === 404) {
        await answer.discard();
        return false;
      }
      if (answer.status !== 200) throw await refusal(label, path, answer);
      const text = await answer.text(pageBytesMax);
      listed += collect(parseStrictJson(Buffer.from(text), `the list ${path} of ${label}`));
      path = nextPage(answer.headers.link, new URL(path, origin));
    }
    return true;
  }

  const client: ContentSource = {
    label,

    async manifest(repository, reference) {
      requireNames(repository, reference);
      const path = `/v2/${repository}/manifests/${reference}`;
      const answer = await get(path, { headers: { accept: manifestTypes.join(', ') } });
      if (answer.status === 404) {
        await answer.discard();
        return undefined;
      }
      if (answer.status !== 200) throw await refusal(label, path, answer);
      const bytes = await collectBytes(answer, manifestBytesMax, label);
      const digest = digestOf(bytes);
      const told = answer.headers['docker-content-digest'];
      for (const asked of [reference, typeof told === 'string' ? told : '']) {
        if (isDigest(asked) && asked !== digest) {
          throw new SluiceError('DigestMismatch', `${label} answers ${repository}@${asked} with other bytes`);
        }
      }
      const type = answer.headers['content-type'];
      const where = `${label}: ${repository}${isDigest(reference) ? '@' : ':'}${reference}`;
      const manifest = parseManifestOf(where, bytes, typeof type === 'string' ? type : undefined);
      return { digest, mediaType: manifest.mediaType, bytes } satisfies RawManifest;
    },

    async blob(repository, digest, options = {}) {
      requireNames(repository, digest);
      return await openRemoteBlob(get, label, `/v2/${repository}/blobs/${digest}`, options);
    },

    async tags(repository) {
      requireNames(repository);
      const found = new Set<string>();
      await pages(`/v2/${repository}/tags/list`, (page) => {
        const tags = (page as { tags?: unknown } | null)?.tags ?? [];
        if (!Array.isArray(tags)) throw new SluiceError('InputInvalid', `${label} lists tags that are none`);
        for (const tag of tags) if (typeof tag === 'string' && isTag(tag)) found.add(tag);
        return tags.length;
      });
      return [...found].sort();
    },

    async referrers(repository, digest) {
      requireNames(repository, digest);
      const found = new Map<Digest, Descriptor>();
      const collect = (page: unknown) => {
        const index = parseManifest(Buffer.from(JSON.stringify(page)));
        if (index.kind !== 'index')
          throw new SluiceError('InputInvalid', `${label} answers no index of referrers`);
        for (const entry of index.manifests) if (entry.digest !== digest) found.set(entry.digest, entry);
        return index.manifests.length;
      };
      const served = await pages(`/v2/${repository}/referrers/${digest}`, collect);
      if (!served) {
        // distribution-spec, "Referrers Tag Schema": where the API is absent, clients keep the list under a tag.
        const raw = await client.manifest(repository, referrersTag(digest));
        const index = raw === undefined ? undefined : parseManifest(raw.bytes, raw.mediaType);
        if (index?.kind === 'index') {
          for (const entry of index.manifests) if (entry.digest !== digest) found.set(entry.digest, entry);
        }
      }
      return [...found.values()];
    },
  };
  return client;
}

/**
 * Opens a blob at an offset. A server that answers the range with nonsense, with 416, or with the whole blob is
 * asked for the whole, and the beginning is left out here.
 */
async function openRemoteBlob(
  get: Get,
  label: string,
  path: string,
  options: BlobOptions,
): Promise<BlobReader | undefined> {
  const offset = options.offset ?? 0;
  const request = {
    reuse: options.reuse === true,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  };
  let answer = await get(
    path,
    offset === 0 ? request : { ...request, headers: { range: `bytes=${offset}-` } },
  );
  let skip = offset;
  if (answer.status === 206) {
    const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(String(answer.headers['content-range'] ?? ''));
    const [first, last, total] = (range ?? []).slice(1).map(Number);
    if (first === offset && total !== undefined && last === total - 1) {
      return { size: total, stream: remoteBytes(answer, label, 0), close: () => answer.discard() };
    }
  }
  if (answer.status === 206 || answer.status === 416) {
    await answer.discard();
    answer = await get(path, request);
  }
  if (answer.status === 404) {
    await answer.discard();
    return undefined;
  }
  if (answer.status !== 200) throw await refusal(label, path, answer);
  const size = Number(answer.headers['content-length'] ?? Number.NaN);
  if (!Number.isSafeInteger(size)) {
    await answer.discard();
    throw new SluiceError('InputInvalid', `${label} does not say how long ${path} is`);
  }
  if (skip > size) skip = size;
  return { size, stream: remoteBytes(answer, label, skip), close: () => answer.discard() };
}

async function* remoteBytes(answer: HttpResponse, label: string, skip: number): AsyncGenerator<Uint8Array> {
  let left = skip;
  try {
    for await (const chunk of answer.body) {
      if (left >= chunk.length) {
        left -= chunk.length;
        continue;
      }
      yield left === 0 ? chunk : chunk.subarray(left);
      left = 0;
    }
  } catch (error) {
    throw bodyError(label, error);
  }
}

async function collectBytes(answer: HttpResponse, bytesMax: number, label: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of answer.body) {
      size += chunk.length;
      if (size > bytesMax) break; // Leaving the loop closes the body.
      chunks.push(chunk);
    }
  } catch (error) {
    throw bodyError(label, error);
  }
  if (size > bytesMax) throw new SluiceError('InputTooLarge', `${label} answers more than ${bytesMax} bytes`);
  return Buffer.concat(chunks);
}

function bodyError(label: string, error: unknown): unknown {
  if (error instanceof SluiceError || (error as Error).name === 'AbortError') return error;
  const stalled = systemCode(error) === 'UND_ERR_BODY_TIMEOUT';
  return new SluiceError(
    stalled ? 'Stalled' : 'Unreachable',
    stalled ? `${label} sends no more bytes` : `${label} broke off: ${messageOf(error)}`,
    { cause: error },
  );
}

/** The error of an answer that is none of those that the request expects. */
async function refusal(label: string, path: string, answer: HttpResponse): Promise<SluiceError> {
  const said = await answer.text(64 * 1024).catch(() => '');
  const message = /"message"\s*:\s*"([^"]{1,200})"/.exec(said)?.[1];
  const why = `${label} answers ${answer.status} for ${path}${message === undefined ? '' : `: ${message}`}`;
  switch (answer.status) {
    case 401:
      return new SluiceError('Unauthorized', why);
    case 403:
      return new SluiceError('Forbidden', why);
    default:
      return new SluiceError('Unreachable', why, { next: nextAfter(answer.status) });
  }
}

function nextAfter(status: number): string {
  if (status === 429) return 'It takes no more requests for now: run it again later.';
  if (status >= 500) return 'It has an error of its own: run it again later, or ask who runs it.';
  return 'Look whether a registry is at this address: what answers there does not speak as one.';
}

function requireNames(repository: string, reference?: string): void {
  if (!isRepositoryName(repository)) {
    throw new SluiceError('InputInvalid', `"${repository}" is not the name of a repository`);
  }
  if (reference !== undefined && !isDigest(reference) && !isTag(reference)) {
    throw new SluiceError('InputInvalid', `"${reference}" is neither a tag nor a digest`);
  }
}
