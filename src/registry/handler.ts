import type { IncomingMessage, ServerResponse } from 'node:http';
import { isSluiceError, messageOf } from '../errors/error.ts';
import type { Handler } from '../http/server.ts';
import type { Logger } from '../observe/log.ts';
import { type Digest, isAnyDigest } from '../oci/digest.ts';
import { type Descriptor, mediaTypes } from '../oci/manifest.ts';
import { isRepositoryName, isTag } from '../oci/reference.ts';
import type { RawManifest } from '../oci/source.ts';
import { sendError, sendJson } from './answer.ts';
import type { Authenticate } from './auth.ts';
import { sendBlob } from './blob.ts';
import { hopHeader, hopStore } from './hop.ts';
import { listPage, pageOf } from './page.ts';
import type { Push, PushCall } from './push.ts';
import type { ServedTree } from './tree.ts';

export interface RegistryOptions {
  /** What to answer from, the first that has it. Asked at each request. */
  readonly trees: () => readonly ServedTree[];
  readonly authenticate: Authenticate;
  readonly logger: Logger;
  /** Takes what writes; absent on nodes, where a registry is read-only. */
  readonly push?: Push;
}

const routeForm = /^\/v2\/(.+)\/(manifests|blobs|tags|referrers)\/([^/]+)$/;
const uploadForm = /^\/v2\/(.+)\/blobs\/uploads\/?([0-9a-f-]{36})?$/;

/** Answers by distribution-spec 1.1: Pull and Content Discovery; Push and Content Management where `push` is given. */
export function createRegistryHandler(options: RegistryOptions): Handler {
  return async (request, response) => {
    response.setHeader('docker-distribution-api-version', 'registry/2.0');
    const identity = await options.authenticate(request);
    if (identity === 'busy') return sendError(response, 'TOOMANYREQUESTS', 'too many passwords to check');
    if (identity === undefined) {
      return sendError(
        response,
        'UNAUTHORIZED',
        'a user name and password, or a client certificate, is needed',
        {
          headers: { 'www-authenticate': 'Basic realm="sluice"' },
        },
      );
    }
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead && options.push === undefined) {
      return sendError(response, 'UNSUPPORTED', 'this registry is read-only', {
        headers: { allow: 'GET, HEAD' },
      });
    }
    const url = URL.parse(request.url ?? '', 'http://registry');
    const path = url?.pathname ?? '';
    if (path === '/v2/' || path === '/v2') return sendJson(response, {});
    const upload = uploadForm.exec(path);
    const [, repository, kind, reference] =
      upload === null ? (routeForm.exec(path) ?? []) : ['', upload[1], 'uploads', upload[2] ?? ''];
    if (url === null || repository === undefined || kind === undefined || reference === undefined) {
      return sendError(response, 'NAME_UNKNOWN', `there is nothing at ${path.slice(0, 200)}`);
    }
    if (!isRepositoryName(repository)) {
      return sendError(
        response,
        'NAME_INVALID',
        `"${repository.slice(0, 255)}" is not the name of a repository`,
      );
    }
    if (!isRead || kind === 'uploads') {
      if (options.push === undefined || kind === 'tags' || kind === 'referrers') {
        return sendError(response, 'UNSUPPORTED', 'this registry is read-only');
      }
      return await options.push({
        request,
        response,
        query: url.searchParams,
        repository,
        kind: kind as PushCall['kind'],
        reference: decode(reference),
      });
    }
    const hop = request.headers[hopHeader];
    const trees = options
      .trees()
      .filter((tree) =>
        hop === hopStore ? tree.kind === 'store' : hop === undefined || tree.kind !== 'peer',
      );
    const call: Call = {
      request,
      response,
      url,
      trees,
      fromStoreOnly: hop === hopStore,
      repository,
      reference: decode(reference),
      logger: options.logger,
    };
    switch (kind) {
      case 'manifests':
        return await answerManifest(call);
      case 'blobs':
        return await answerBlob(call);
      case 'tags':
        return await answerTags(call);
      default:
        return await answerReferrers(call);
    }
  };
}

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly trees: readonly ServedTree[];
  /** Another node asks what has come here (`hopStore`). */
  readonly fromStoreOnly: boolean;
  readonly repository: string;
  readonly reference: string;
  readonly logger: Logger;
}

async function answerManifest(call: Call): Promise<void> {
  const { request, response, repository, reference } = call;
  const known = isAnyDigest(reference) || isTag(reference);
  const found = known
    ? await firstOf(call, (tree) => holder(call, tree, (name) => tree.manifest(name, reference)))
    : undefined;
  if (found === 'failed') return sendUnavailable(call);
  if (found === undefined) {
    const message = `${repository} has no manifest ${reference.slice(0, 128)}`;
    return sendError(response, 'MANIFEST_UNKNOWN', message, {
      detail: { name: repository, reference: reference.slice(0, 128) },
    });
  }
  if (!accepts(request.headers.accept, found.mediaType)) {
    // As distribution does: to a client that cannot read it, it is not there.
    return sendError(
      response,
      'MANIFEST_UNKNOWN',
      `the manifest is of the type ${found.mediaType}, which is not accepted`,
    );
  }
  sendManifest(request, response, found);
}

function sendManifest(request: IncomingMessage, response: ServerResponse, found: RawManifest): void {
  const etag = `"${found.digest}"`;
  const headers = { 'content-type': found.mediaType, 'docker-content-digest': found.digest, etag };
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304, headers).end();
    return;
  }
  response.writeHead(200, { ...headers, 'content-length': String(found.bytes.length) });
  response.end(request.method === 'HEAD' ? undefined : found.bytes);
}

async function answerBlob(call: Call): Promise<void> {
  const { request, response, repository, reference } = call;
  if (!isAnyDigest(reference)) {
    return sendError(response, 'DIGEST_INVALID', `"${reference.slice(0, 128)}" is not a digest`);
  }
  const blob = await firstOf(call, async (tree) =>
    call.fromStoreOnly
      ? await tree.unlinkedBlob?.(reference)
      : await holder(call, tree, (name) => tree.blob(name, reference)),
  );
  if (blob === 'failed') return sendUnavailable(call);
  if (blob === undefined) {
    return sendError(response, 'BLOB_UNKNOWN', `${repository} has no blob ${reference}`, {
      detail: { digest: reference },
    });
  }
  try {
    await sendBlob(request, response, reference, blob);
  } catch (error) {
    call.logger.warn(
      { digest: reference, repository, error: messageOf(error) },
      'a blob could not be sent to its end',
    );
    response.destroy();
  }
}

async function answerTags(call: Call): Promise<void> {
  const { response, repository, url } = call;
  if (call.reference !== 'list')
    return sendError(response, 'NAME_UNKNOWN', `there is nothing at ${url.pathname}`);
  const page = pageOf(url.searchParams);
  if (page === undefined) return sendError(response, 'PAGINATION_NUMBER_INVALID', 'n must be a whole number');
  const tags = new Set<string>();
  let exists = false;
  for (const tree of call.trees) {
    const found = await guarded(call, tree, async () => {
      exists ||= await tree.hasRepository(repository);
      return await tree.tags(repository);
    });
    if (found === 'failed') return sendUnavailable(call);
    for (const tag of found) tags.add(tag);
  }
  if (!exists)
    return sendError(response, 'NAME_UNKNOWN', `there is no repository ${repository}`, {
      detail: { name: repository },
    });
  const { items, next } = listPage([...tags].sort(), page);
  const link = next === undefined ? {} : { link: `</v2/${repository}/tags/list?${next}>; rel="next"` };
  sendJson(response, { name: repository, tags: items }, { headers: link });
}

async function answerReferrers(call: Call): Promise<void> {
  const { response, repository, reference, url } = call;
  if (!isAnyDigest(reference)) {
    return sendError(response, 'DIGEST_INVALID', `"${reference.slice(0, 128)}" is not a digest`);
  }
  const found = new Map<Digest, Descriptor>();
  for (const tree of call.trees) {
    const list = await guarded(call, tree, () => tree.referrers(repository, reference));
    if (list === 'failed') return sendUnavailable(call);
    for (const entry of list) found.set(entry.digest, entry);
  }
  const wanted = url.searchParams.get('artifactType');
  const manifests = [...found.values()].filter((entry) => wanted === null || entry.artifactType === wanted);
  // distribution-spec, "Listing Referrers": a filter that was applied is said.
  const headers: Record<string, string> = wanted === null ? {} : { 'oci-filters-applied': 'artifactType' };
  const index = { schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests };
  sendJson(response, index, { type: mediaTypes.ociIndex, headers });
}

/**
 * Asks a tree for the repository that is named. A client that takes us for a mirror of another registry says so by
 * `ns`, that registry's host, and names the repository as it is there; what it asks for by digest is the same
 * wherever it lies, so then every repository is looked through (containerd, docs/hosts.md; distribution-spec,
 * "Proxying").
 */
async function holder<T>(
  call: Call,
  tree: ServedTree,
  ask: (repository: string) => Promise<T | undefined>,
): Promise<T | undefined> {
  const found = await ask(call.repository);
  if (found !== undefined || !call.url.searchParams.has('ns') || !isAnyDigest(call.reference)) return found;
  for (const repository of await tree.repositories()) {
    const elsewhere = await ask(repository);
    if (elsewhere !== undefined) return elsewhere;
  }
  return undefined;
}

/** The first tree that has it. 'failed' only where none has it and one could not say. */
async function firstOf<T>(
  call: Call,
  ask: (tree: ServedTree) => Promise<T | undefined>,
): Promise<T | 'failed' | undefined> {
  let failed = false;
  for (const tree of call.trees) {
    const found = await guarded(call, tree, () => ask(tree));
    if (found === 'failed') failed = true;
    else if (found !== undefined) return found;
  }
  return failed ? 'failed' : undefined;
}

/** A tree that fails (media gone, a damaged manifest, a silent peer) does not keep the others from answering. */
async function guarded<T>(call: Call, tree: ServedTree, ask: () => Promise<T>): Promise<T | 'failed'> {
  try {
    return await ask();
  } catch (error) {
    if (!isSluiceError(error)) throw error;
    call.logger.warn({ tree: tree.label, code: error.code, error: error.message }, 'a tree cannot answer');
    return 'failed';
  }
}

function sendUnavailable(call: Call): void {
  sendError(call.response, 'UNAVAILABLE', `${call.repository} cannot be read at the moment`, {
    headers: { 'retry-after': '5' },
  });
}

/** RFC 9110 §12.5.1, without weights: a type that is named, or a range that covers it. */
function accepts(header: string | undefined, mediaType: string): boolean {
  if (header === undefined || header.trim() === '') return true;
  const [family] = mediaType.split('/');
  return header.split(',').some((item) => {
    const range = item.split(';')[0]?.trim().toLowerCase();
    return range === '*/*' || range === `${family}/*` || range === mediaType;
  });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
