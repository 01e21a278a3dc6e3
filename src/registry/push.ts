import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isSluiceError, SluiceError } from '../errors/error.ts';
import { withStallLimit } from '../http/stall.ts';
import { type Digest, digestAlgorithms, isAnyDigest, isDigestOf } from '../oci/digest.ts';
import { manifestBytesMax, parseManifest } from '../oci/manifest.ts';
import { isTag } from '../oci/reference.ts';
import type { Store } from '../store/store.ts';
import { type RegistryErrorCode, sendError } from './answer.ts';
import { readContentRange } from './range.ts';
import { createUploads, type Uploads } from './uploads.ts';

/** A request that changes what the registry holds, or asks about an upload. */
export interface PushCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  readonly repository: string;
  readonly kind: 'manifests' | 'blobs' | 'uploads';
  /** A tag or digest, or the id of an upload ('' to begin one). */
  readonly reference: string;
  /** Milliseconds without a byte of the body after which it is given up. */
  readonly stallMs: number;
}

/** Answers distribution-spec 1.1, categories Push and Content Management, into a store of its own. */
export type Push = (call: Omit<PushCall, 'stallMs'>) => Promise<void>;

/** Tags in one push of a manifest by digest (`?tag=`). */
const tagsMax = 64;

/** The limit is on silence: a layer of gigabytes may come slowly. */
const stallMsDefault = 60_000;

export function createPush(store: Store, options: { readonly stallMs?: number | undefined } = {}): Push {
  const uploads = createUploads(store);
  const stallMs = options.stallMs ?? stallMsDefault;
  return async (call) => {
    try {
      await route({ ...call, stallMs }, store, uploads);
    } catch (error) {
      if (!isSluiceError(error) || call.response.headersSent) throw error;
      // What is left of the body is not read: the connection ends with the answer.
      const headers = { connection: 'close' };
      sendError(call.response, codeOf(error.code), error.message, { headers });
      call.request.resume();
    }
  };
}

function codeOf(code: string): RegistryErrorCode {
  switch (code) {
    case 'DigestMismatch':
    case 'DigestInvalid':
      return 'DIGEST_INVALID';
    case 'ContentMissing':
      return 'MANIFEST_BLOB_UNKNOWN';
    case 'InputTooLarge':
      return 'SIZE_INVALID';
    case 'NotFound':
    case 'Conflict':
      return 'BLOB_UPLOAD_UNKNOWN';
    case 'DiskFull':
      return 'UNAVAILABLE';
    case 'Stalled':
      return 'BLOB_UPLOAD_INVALID';
    default:
      return 'MANIFEST_INVALID';
  }
}

async function route(call: PushCall, store: Store, uploads: Uploads): Promise<void> {
  const { method } = call.request;
  if (call.kind === 'manifests') {
    if (method === 'PUT') return await putManifest(call, store);
    if (method === 'DELETE') return await deleteManifest(call, store);
  } else if (call.kind === 'blobs') {
    if (method === 'DELETE') return await deleteBlob(call, store);
  } else if (call.reference === '') {
    if (method === 'POST') return await beginUpload(call, store, uploads);
  } else {
    return await continueUpload(call, uploads);
  }
  sendError(call.response, 'UNSUPPORTED', `${method} is not offered here`);
}

async function beginUpload(call: PushCall, store: Store, uploads: Uploads): Promise<void> {
  const { query, repository, request } = call;
  const mount = query.get('mount');
  // Everybody who may push may read every repository, so that a blob is mounted from wherever it stands.
  if (mount !== null && isAnyDigest(mount)) {
    const from = query.get('from');
    const there =
      from === null
        ? (await store.hasBlob(mount)) !== undefined
        : await store.hasLink(from, 'blob', mount).catch(() => false);
    if (there) {
      await store.linkLayer(repository, mount);
      return created(call, `/v2/${repository}/blobs/${mount}`, mount);
    }
  }
  const algorithm = query.get('digest-algorithm');
  if (algorithm !== null && !digestAlgorithms.some((known) => known === algorithm)) {
    return sendError(call.response, 'DIGEST_INVALID', `"${algorithm.slice(0, 32)}" is not a known algorithm`);
  }
  const digest = query.get('digest');
  if (digest !== null && !isAnyDigest(digest)) {
    return sendError(call.response, 'DIGEST_INVALID', `"${digest.slice(0, 160)}" is not a digest`);
  }
  const id = await uploads.begin(repository);
  if (digest === null) return accepted(call, id, 0);
  try {
    await uploads.append(id, bodyOf(call), lengthOf(request));
  } catch (error) {
    await uploads.cancel(id);
    throw error;
  }
  await uploads.finish(id, digest);
  created(call, `/v2/${repository}/blobs/${digest}`, digest);
}

async function continueUpload(call: PushCall, uploads: Uploads): Promise<void> {
  const { request, response, repository, reference: id, query } = call;
  const offset = uploads.offset(repository, id);
  if (offset === undefined) {
    request.resume();
    return sendError(response, 'BLOB_UPLOAD_UNKNOWN', `there is no upload ${id.slice(0, 64)}`);
  }
  switch (request.method) {
    case 'GET':
      response.writeHead(204, uploadHeaders(call, id, offset)).end();
      return;
    case 'DELETE':
      await uploads.cancel(id);
      response.writeHead(204).end();
      return;
    case 'PATCH':
    case 'PUT':
      break;
    default:
      return sendError(response, 'UNSUPPORTED', `${request.method} is not offered here`);
  }
  const range = readContentRange(request.headers['content-range']);
  const expected =
    range === undefined ? lengthOf(request) : range === 'invalid' ? 0 : range.end - range.offset;
  if (range === 'invalid' || (range !== undefined && range.offset !== offset)) {
    request.resume();
    return sendError(response, 'RANGE_INVALID', `the upload stands at ${offset}`, {
      headers: uploadHeaders(call, id, offset),
    });
  }
  const digest = query.get('digest');
  if (request.method === 'PUT' && (digest === null || !isAnyDigest(digest))) {
    request.resume();
    return sendError(response, 'DIGEST_INVALID', `"${(digest ?? '').slice(0, 160)}" is not a digest`);
  }
  const now = await uploads.append(id, bodyOf(call), expected);
  if (request.method === 'PATCH') return accepted(call, id, now);
  await uploads.finish(id, digest as Digest);
  created(call, `/v2/${repository}/blobs/${digest}`, digest as Digest);
}

async function putManifest(call: PushCall, store: Store): Promise<void> {
  const { request, repository, reference, query } = call;
  const tags = isTag(reference) ? [reference] : query.getAll('tag');
  if (!(isTag(reference) || isAnyDigest(reference)) || tags.length > tagsMax || !tags.every(isTag)) {
    request.resume();
    return sendError(call.response, 'MANIFEST_INVALID', 'the reference is neither a tag nor a digest');
  }
  const bytes = await readManifest(call);
  const digest: Digest = isAnyDigest(reference)
    ? reference
    : `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  if (!isDigestOf(digest, bytes)) {
    return sendError(call.response, 'DIGEST_INVALID', `the body is not ${digest}`);
  }
  const told = request.headers['content-type'];
  const manifest = parseManifest(bytes, told);
  const mediaType = manifest.mediaType;
  await store.putManifest(repository, { digest, mediaType, bytes });
  for (const tag of tags) await store.tag(repository, tag, digest);
  created(call, `/v2/${repository}/manifests/${reference}`, digest, {
    // distribution-spec, "Pushing Manifests with Subject": says that the referrers API will list it.
    ...(manifest.subject === undefined ? {} : { 'oci-subject': manifest.subject.digest }),
    ...(isAnyDigest(reference) && tags.length > 0 ? { 'oci-tag': tags.join(', ') } : {}),
  });
}

async function deleteManifest(call: PushCall, store: Store): Promise<void> {
  const { repository, reference } = call;
  const gone = isAnyDigest(reference)
    ? await store.unlinkManifest(repository, reference)
    : isTag(reference) && (await store.untag(repository, reference));
  if (!gone) return sendError(call.response, 'MANIFEST_UNKNOWN', `${repository} has no such manifest`);
  call.response.writeHead(202, { 'content-length': '0' }).end();
}

async function deleteBlob(call: PushCall, store: Store): Promise<void> {
  const { repository, reference } = call;
  if (!isAnyDigest(reference))
    return sendError(call.response, 'DIGEST_INVALID', `"${reference.slice(0, 160)}" is not a digest`);
  if (!(await store.unlinkLayer(repository, reference)))
    return sendError(call.response, 'BLOB_UNKNOWN', `${repository} has no such blob`);
  call.response.writeHead(202, { 'content-length': '0' }).end();
}

function created(call: PushCall, location: string, digest: Digest, more: Record<string, string> = {}): void {
  const headers = { location, 'docker-content-digest': digest, 'content-length': '0', ...more };
  call.response.writeHead(201, headers).end();
}

function accepted(call: PushCall, id: string, offset: number): void {
  call.response.writeHead(202, { ...uploadHeaders(call, id, offset), 'content-length': '0' }).end();
}

function uploadHeaders(call: PushCall, id: string, offset: number): Record<string, string> {
  return {
    location: `/v2/${call.repository}/blobs/uploads/${id}`,
    // Of nothing the historical answer is 0-0 too.
    range: `0-${Math.max(0, offset - 1)}`,
    'docker-upload-uuid': id,
  };
}

/** The body; whoever stops reading it leaves the connection able to carry an answer. */
function bodyOf({ request, stallMs }: PushCall): AsyncIterable<Uint8Array> {
  const body = { [Symbol.asyncIterator]: () => request.iterator({ destroyOnReturn: false }) };
  return withStallLimit(body, { stallMs, what: 'the client', signal: neverAborted });
}

const neverAborted = new AbortController().signal;

async function readManifest(call: PushCall): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bodyOf(call)) {
    size += chunk.length;
    if (size > manifestBytesMax) {
      throw new SluiceError('InputTooLarge', `a manifest may have ${manifestBytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function lengthOf(request: IncomingMessage): number | undefined {
  const text = request.headers['content-length'];
  return text === undefined ? undefined : Number(text);
}
