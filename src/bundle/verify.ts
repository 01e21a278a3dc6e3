import { createHash } from 'node:crypto';
import { type ErrorCode, errorTable, SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import { readPayload } from '../payload/payload.ts';
import type { TrustedKey } from '../trust/keys.ts';
import { type BundleReference, openBundle, type VerifiedBundle } from './bundle.ts';
import { bundleRoots, type ClosureItem, imageClosure } from './closure.ts';
import { type Delta, readDelta } from './delta.ts';
import { bundleRepository, payloadArchitecture } from './document.ts';

/** Something that is not as it was signed. */
export interface VerifyProblem {
  /** Name of the image that it is part of, or of the bundle. */
  readonly image: string;
  readonly digest: Digest | undefined;
  readonly code: ErrorCode;
  readonly problem: string;
}

export interface VerifyProgress {
  readonly bytesDone: number;
  readonly bytesTotal: number;
  readonly image: string;
}

export interface VerifyReport {
  /** What was asked for: a name or a digest. */
  readonly asked: string;
  /** Undefined where the signature or the document was refused: then nothing else was looked at. */
  readonly bundle: VerifiedBundle | undefined;
  /** None: every byte is the one that was signed. */
  readonly problems: readonly VerifyProblem[];
  /** Where the media carry a delta: what must come from its base. None of it was looked at. */
  readonly delta: Delta | undefined;
  /** Blobs and manifests that were hashed, and their bytes. */
  readonly hashed: ReadonlySet<Digest>;
  readonly bytes: number;
}

export interface VerifyOptions {
  readonly onProgress?: (progress: VerifyProgress) => void;
  readonly signal?: AbortSignal;
}

/**
 * Verifies a whole bundle: its signature, that nothing is missing, and each byte of everything it is made of. Finds
 * all problems, not the first one.
 *
 * Errors: MediaLost, Unreachable and the like: what could not be read for outside reasons is no finding.
 */
export async function verifyBundle(
  content: ContentSource,
  reference: BundleReference,
  keys: readonly TrustedKey[],
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const asked = 'name' in reference ? reference.name : `${bundleRepository}@${reference.digest}`;
  const findings = createFindings();
  const bundle = await findings.collect(asked, undefined, () => openBundle(content, reference, keys));
  if (bundle === undefined) {
    return { asked, bundle, problems: findings.list, delta: undefined, hashed: new Set(), bytes: 0 };
  }
  const delta = await findings.collect(asked, bundle.digest, () => readDelta(content, bundle.digest, keys));
  const items = await walkAll(content, bundle, findings);
  // What a delta leaves to its base may still be there; then it is hashed like anything else.
  const here = delta === undefined ? items : await withoutLacking(content, items, delta);
  const totals = await hashAll(content, here, findings, options);
  if (findings.list.length === 0)
    await findings.collect(asked, bundle.digest, () => checkPayload(content, bundle));
  return { asked, bundle, problems: findings.list, delta, ...totals };
}

interface Findings {
  readonly list: VerifyProblem[];
  add(image: string, digest: Digest | undefined, error: SluiceError): void;
  /** Runs `act`; a refusal of what was read becomes a problem, anything else is thrown. */
  collect<T>(image: string, digest: Digest | undefined, act: () => Promise<T>): Promise<T | undefined>;
}

function createFindings(): Findings {
  const list: VerifyProblem[] = [];
  const findings: Findings = {
    list,
    add(image, digest, error) {
      list.push({ image, digest, code: error.code, problem: error.message });
    },
    async collect(image, digest, act) {
      try {
        return await act();
      } catch (error) {
        if (!isFinding(error)) throw error;
        findings.add(image, digest, error);
        return undefined;
      }
    },
  };
  return findings;
}

/** Whether an error tells of the content itself. */
export function isFinding(error: unknown): error is SluiceError {
  if (!(error instanceof SluiceError)) return false;
  const ofInput: ErrorCode[] = [
    'NotFound',
    'InputInvalid',
    'InputTooLarge',
    'DigestInvalid',
    'MediaUnreadable',
  ];
  return errorTable[error.code].exit === 6 || ofInput.includes(error.code);
}

/** Every item of the closure, as far as it can be walked: a damaged manifest ends the walk of its own image only. */
async function walkAll(
  content: ContentSource,
  bundle: VerifiedBundle,
  findings: Findings,
): Promise<ClosureItem[]> {
  const items: ClosureItem[] = [];
  for (const root of bundleRoots(bundle)) {
    // Each image is walked on its own, so that a blob that several share is told of for each of them.
    await findings.collect(root.image, root.digest, async () => {
      for await (const item of imageClosure(content, root, new Set(), bundle.document.platforms))
        items.push(item);
    });
    for (const tag of root.tags) {
      await findings.collect(root.image, root.digest, () =>
        checkTag(content, root.repository, tag, root.digest),
      );
    }
  }
  return items;
}

async function withoutLacking(
  content: ContentSource,
  items: readonly ClosureItem[],
  delta: Delta,
): Promise<ClosureItem[]> {
  const here: ClosureItem[] = [];
  for (const item of items) {
    if (item.kind === 'blob' && delta.lacks.get(item.digest) === item.size) {
      const blob = await content.blob(item.repository, item.digest);
      await blob?.close?.();
      if (blob === undefined) continue;
    }
    here.push(item);
  }
  return here;
}

async function checkTag(
  content: ContentSource,
  repository: string,
  tag: string,
  digest: Digest,
): Promise<void> {
  const raw = await content.manifest(repository, tag);
  if (raw?.digest === digest) return;
  const names = raw === undefined ? 'names nothing' : `names ${raw.digest}`;
  throw new SluiceError('ContentMissing', `the tag ${repository}:${tag} ${names}, not ${digest}`);
}

async function hashAll(
  content: ContentSource,
  items: readonly ClosureItem[],
  findings: Findings,
  options: VerifyOptions,
): Promise<{ hashed: ReadonlySet<Digest>; bytes: number }> {
  const sizes = new Map(items.map((item) => [item.digest, item.size]));
  const bytesTotal = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  const results = new Map<Digest, SluiceError | undefined>();
  const opened = new Set<string>();
  let bytesDone = 0;
  for (const item of items) {
    options.signal?.throwIfAborted();
    const count = (bytes: number) => {
      bytesDone += bytes;
      options.onProgress?.({ bytesDone, bytesTotal, image: item.image });
    };
    // The bytes of a blob are the same in every repository, but each repository must lead to them.
    const place = `${item.repository}@${item.digest}`;
    if (!results.has(item.digest)) results.set(item.digest, await hashItem(content, item, count));
    else if (!opened.has(place) && results.get(item.digest) === undefined) {
      const missing = await findItem(content, item);
      if (missing !== undefined) findings.add(item.image, item.digest, missing);
    }
    opened.add(place);
    const damage = results.get(item.digest);
    const told = findings.list.some((each) => each.image === item.image && each.digest === item.digest);
    if (damage !== undefined && !told) findings.add(item.image, item.digest, damage);
  }
  return { hashed: new Set(sizes.keys()), bytes: bytesTotal };
}

/** Whether the repository leads to the item at all. */
async function findItem(content: ContentSource, item: ClosureItem): Promise<SluiceError | undefined> {
  if (item.kind === 'manifest') return undefined; // The walk has read it there.
  const blob = await content.blob(item.repository, item.digest);
  await blob?.close?.();
  return blob === undefined ? absent(content, item) : undefined;
}

async function hashItem(
  content: ContentSource,
  item: ClosureItem,
  count: (bytes: number) => void,
): Promise<SluiceError | undefined> {
  if (item.kind === 'manifest') {
    count(item.size); // Its bytes were compared with its digest when the walk read it.
    return undefined;
  }
  try {
    const blob = await content.blob(item.repository, item.digest);
    if (blob === undefined) return absent(content, item);
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of blob.stream) {
      hash.update(chunk);
      bytes += chunk.length;
      count(chunk.length);
    }
    const digest = `sha256:${hash.digest('hex')}`;
    if (digest === item.digest && bytes === item.size) return undefined;
    const what = bytes === item.size ? `holds other bytes (${digest})` : `has ${bytes} of ${item.size} bytes`;
    return new SluiceError('DigestMismatch', `the blob ${item.digest} ${what}`);
  } catch (error) {
    if (isFinding(error)) return error;
    throw error;
  }
}

function absent(content: ContentSource, item: ClosureItem): SluiceError {
  return new SluiceError(
    'ContentMissing',
    `${content.label} does not hold the ${item.kind} ${item.digest} in ${item.repository}`,
  );
}

/** The payload and the document must say the same: who built the bundle may have left something out. */
async function checkPayload(content: ContentSource, bundle: VerifiedBundle): Promise<void> {
  const { document } = bundle;
  const image = document.images.find((each) => each.role === 'payload');
  if (image === undefined) return;
  const payload = await readPayload(content, image.repository, document.payload, {
    architecture: payloadArchitecture(document),
  });
  if (payload.version !== document.version) {
    throw new SluiceError(
      'InputInvalid',
      `the payload is of ${payload.version}, the bundle of ${document.version}`,
    );
  }
  const digests = new Set(document.images.map((each) => each.digest));
  const lacking = [...payload.images.values()]
    .filter((each) => !digests.has(each.digest))
    .map((each) => each.tag);
  if (lacking.length === 0) return;
  throw new SluiceError(
    'ContentMissing',
    `the bundle does not list ${lacking.join(', ')}, which its payload names`,
  );
}
