import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { releaseSignatureLayerType, releaseSignaturesType } from '../bundle/release-signatures.ts';
import { messageOf, SluiceError, systemCode } from '../errors/error.ts';
import { createHttpClient, type HttpClient } from '../http/client.ts';
import { proxyFromEnvironment } from '../http/proxy.ts';
import { type Digest, digestOf, hexOf } from '../oci/digest.ts';
import { type Descriptor, mediaTypes } from '../oci/manifest.ts';
import type { RawManifest } from '../oci/source.ts';
import {
  type ReleaseKeyring,
  releaseSignatureBytesMax,
  releaseSignaturesMax,
  verifyRelease,
} from '../trust/release-signature.ts';
import type { Artifact } from './overlay.ts';
import { readSignatureConfigMaps } from './signature-config-maps.ts';

export interface ReleaseSignatureOptions {
  /** Directories or addresses that hold `sha256=<hex>/signature-1`, `-2`, …, and files of ConfigMaps. */
  readonly stores: readonly string[];
  /** Keyrings that the release must satisfy; none: the signatures are carried as they are. */
  readonly keyrings: readonly ReleaseKeyring[];
  readonly env: NodeJS.ProcessEnv;
  /** Milliseconds in which a store must have answered; default 30 000. */
  readonly storeTimeoutMs?: number;
}

export interface FoundSignatures {
  readonly signatures: readonly Uint8Array[];
  /** Stores that could not be asked, with why: others had what was needed. */
  readonly unasked: readonly string[];
}

/** A store that does not answer must not hold up one that does for ever. */
const storeTimeoutMsDefault = 30_000;

/**
 * Finds the OpenPGP signatures of a release in all stores, at once, and verifies them.
 *
 * Errors: SignatureMissing (with what each store said), SignatureUntrusted.
 */
export async function findReleaseSignatures(
  payload: Digest,
  options: ReleaseSignatureOptions,
): Promise<FoundSignatures> {
  const http = createHttpClient({}, { proxy: proxyFromEnvironment(options.env) });
  try {
    const timeoutMs = options.storeTimeoutMs ?? storeTimeoutMsDefault;
    const answers = await Promise.allSettled(
      options.stores.map((store) => readStore(store, payload, { http, timeoutMs })),
    );
    const found = new Map<Digest, Uint8Array>();
    const failures: string[] = [];
    for (const [index, answer] of answers.entries()) {
      if (answer.status === 'rejected')
        failures.push(`${options.stores[index]}: ${messageOf(answer.reason)}`);
      else for (const bytes of answer.value) found.set(digestOf(bytes), bytes);
    }
    if (found.size === 0) {
      const why = failures.length > 0 ? failures.join('; ') : `none in ${options.stores.join(', ')}`;
      throw new SluiceError(
        'SignatureMissing',
        `no OpenPGP signature of the release ${payload} was found: ${why}`,
        {
          next: 'Give the store that holds it: --release-signatures DIR, a file of ConfigMaps, or https://…',
        },
      );
    }
    // Sorted: the same signatures give the same bundle, whichever store was faster.
    const signatures = [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, bytes]) => bytes);
    const { keyrings } = options;
    const good = keyrings.length === 0 ? [] : await verifyRelease(signatures, keyrings, payload, Date.now());
    // Who reads them on the other side reads as many as a store has: those that hold are among these.
    const first = [...new Set([...good.map(({ signature }) => signature), ...signatures])];
    const carried = new Set(first.slice(0, releaseSignaturesMax));
    return { signatures: signatures.filter((each) => carried.has(each)), unasked: failures };
  } finally {
    await http.close();
  }
}

async function readStore(
  store: string,
  payload: Digest,
  { http, timeoutMs }: { readonly http: HttpClient; readonly timeoutMs: number },
): Promise<Uint8Array[]> {
  const directory = `sha256=${hexOf(payload)}`;
  const signal = AbortSignal.timeout(timeoutMs);
  const isRemote = /^https?:\/\//.test(store);
  if (!isRemote && (await isFile(store))) return await readSignatureConfigMaps(store, payload);
  const signatures: Uint8Array[] = [];
  for (let number = 1; number <= releaseSignaturesMax; number += 1) {
    const name = `signature-${number}`;
    const bytes = isRemote
      ? await fetchSignature(`${store.replace(/\/+$/, '')}/${directory}/${name}`, http, signal)
      : await readSignature(join(store, directory, name));
    if (bytes === undefined) break;
    signatures.push(bytes);
  }
  return signatures;
}

async function isFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (facts) => facts.isFile(),
    () => false,
  );
}

async function fetchSignature(
  url: string,
  http: HttpClient,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const answer = await http.request({ url, signal });
  if (answer.status !== 200) {
    await answer.discard();
    if (answer.status === 404) return undefined;
    throw new SluiceError('Unreachable', `${url} answers ${answer.status}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body) {
    size += chunk.length;
    if (size > releaseSignatureBytesMax)
      throw new SluiceError('InputTooLarge', `${url} has more than ${releaseSignatureBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function readSignature(path: string): Promise<Uint8Array | undefined> {
  try {
    const { size } = await stat(path);
    if (size > releaseSignatureBytesMax) throw new SluiceError('InputTooLarge', `${path} has ${size} bytes`);
    return await readFile(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The artifact that carries them, referring to the payload. */
export function signaturesArtifact(payload: Descriptor, signatures: readonly Uint8Array[]): Artifact {
  const blobs = new Map<Digest, Uint8Array>();
  const add = (bytes: Uint8Array, mediaType: string): Descriptor => {
    const digest = digestOf(bytes);
    blobs.set(digest, bytes);
    return { mediaType, digest, size: bytes.length };
  };
  const manifest = {
    schemaVersion: 2,
    mediaType: mediaTypes.ociManifest,
    artifactType: releaseSignaturesType,
    config: add(Buffer.from('{}'), mediaTypes.ociEmpty),
    layers: signatures.map((bytes) => add(bytes, releaseSignatureLayerType)),
    subject: payload,
  };
  const bytes = Buffer.from(JSON.stringify(manifest));
  const raw: RawManifest = { digest: digestOf(bytes), mediaType: mediaTypes.ociManifest, bytes };
  return { raw, blobs, subject: payload.digest, artifactType: releaseSignaturesType };
}
