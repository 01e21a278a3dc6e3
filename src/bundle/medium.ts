import { createHash } from 'node:crypto';
import { SluiceError } from '../errors/error.ts';
import { formatHint, hintFile, readHintBytes } from '../media/hint.ts';
import type { Media } from '../media/media.ts';
import { type Digest, hexOf, isDigest } from '../oci/digest.ts';
import { blobData, layoutRoot, repositoriesPath } from '../store/path.ts';
import type { Tree } from '../store/tree.ts';
import type { TrustedKey } from '../trust/keys.ts';
import { bundleTags, listBundles } from './listing.ts';
import { verifyProgram } from './program.ts';
import {
  isFinding,
  type VerifyOptions,
  type VerifyProblem,
  type VerifyReport,
  verifyBundle,
} from './verify.ts';

const linkBytesMax = 256;
const chunkBytes = 1024 * 1024;
/** Directories inside each other in the layout: repositories have any number of parts, but not this many. */
const depthMax = 64;
/** Files and directories of the layout, a bundle of 40 GB has some 20 000; on media they may lie in circles. */
const entriesMax = 1_000_000;
const problemsMax = 10_000;

export interface MediaReport {
  readonly bundles: readonly VerifyReport[];
  /** What is wrong with the media beside the bundles. */
  readonly problems: readonly VerifyProblem[];
}

/** All that is wrong on media: in each bundle, and beside them. */
export function problemsOf(report: MediaReport): VerifyProblem[] {
  return [...report.bundles.flatMap(({ problems }) => problems), ...report.problems];
}

/**
 * Verifies everything on media: each bundle, and every file besides: links that lead nowhere, blobs that nothing
 * names, a hint that says something else. So no changed bit goes unseen.
 *
 * Errors: MediaUnreadable where there is no bundle; MediaLost.
 */
export async function verifyMedia(
  media: Media,
  keys: readonly TrustedKey[],
  options: VerifyOptions & { readonly entriesMax?: number } = {},
): Promise<MediaReport> {
  const names = await bundleTags(media.content);
  if (names.length === 0) {
    throw new SluiceError('MediaUnreadable', `${media.path} carries no release bundle`);
  }
  const bundles: VerifyReport[] = [];
  for (const name of names) bundles.push(await verifyBundle(media.content, { name }, keys, options));
  const problems: VerifyProblem[] = [];
  await checkHint(media, problems);
  problems.push(...(await verifyProgram(media.tree, keys)));
  const hashed = new Set(bundles.flatMap((report) => [...report.hashed]));
  const check: FileCheck = {
    tree: media.tree,
    hashed,
    needsKnown: bundles.every((report) => report.bundle !== undefined),
    problems,
    signal: options.signal,
    entriesLeft: options.entriesMax ?? entriesMax,
  };
  await checkFiles(check, layoutRoot, 0);
  if (check.entriesLeft < 0) problems.push(unfinished(check));
  // What a bundle's own report tells with the image's name is not told again as a file.
  const told = new Set(bundles.flatMap((report) => report.problems.flatMap(damagedIn)));
  return {
    bundles,
    problems: problems.filter((each) => each.digest === undefined || !told.has(each.digest)),
  };
}

/** What a problem tells is damaged: of the bundle's own manifests and signatures only the message names the digest. */
function damagedIn({ digest, code, problem }: VerifyProblem): Digest[] {
  if (digest !== undefined) return [digest];
  if (code !== 'DigestMismatch') return [];
  const words: string[] = problem.match(/sha256:[0-9a-f]{64}/g) ?? [];
  return words.filter(isDigest);
}

async function checkHint(media: Media, problems: VerifyProblem[]): Promise<void> {
  const bytes = await readHintBytes(media.tree);
  if (bytes === undefined) return; // Media that others made have none.
  const expected = formatHint({ bundles: await listBundles(media.content) });
  if (Buffer.compare(bytes, expected) === 0) return;
  problems.push({
    image: hintFile,
    digest: undefined,
    code: 'DigestMismatch',
    problem: `${hintFile} does not say what the media hold`,
  });
}

interface FileCheck {
  readonly tree: Tree;
  /** Blobs that were hashed with their bundles. */
  readonly hashed: ReadonlySet<Digest>;
  /** Whether each bundle could be opened, so that it is known what they need. */
  readonly needsKnown: boolean;
  readonly problems: VerifyProblem[];
  readonly signal: AbortSignal | undefined;
  /** Below zero: no more is looked at. */
  entriesLeft: number;
}

function unfinished({ tree }: FileCheck): VerifyProblem {
  return {
    image: layoutRoot,
    digest: undefined,
    code: 'InputTooLarge',
    problem: `${tree.label} holds too many files and directories, too deep ones, or too much that is wrong: the rest was not looked at`,
  };
}

async function checkFiles(check: FileCheck, path: string, depth: number): Promise<void> {
  const { tree, problems } = check;
  if (depth > depthMax) check.entriesLeft = -1;
  if (check.entriesLeft < 0) return;
  const found = async (at: string, act: () => Promise<void>) => {
    try {
      await act();
    } catch (error) {
      if (!isFinding(error)) throw error;
      problems.push({ image: at, digest: digestIn(at), code: error.code, problem: error.message });
      if (problems.length >= problemsMax) check.entriesLeft = -1;
    }
  };
  await found(path, async () => {
    for (const entry of await tree.list(path)) {
      check.signal?.throwIfAborted();
      check.entriesLeft -= 1;
      if (check.entriesLeft < 0) return;
      const inner = `${path}/${entry.name}`;
      if (entry.directory && entry.name === '_uploads') continue; // What another registry left; nothing reads it.
      if (entry.directory) await checkFiles(check, inner, depth + 1);
      else await found(inner, () => checkFile(check, inner));
    }
  });
}

async function checkFile(check: FileCheck, path: string): Promise<void> {
  const digest = digestIn(path);
  if (digest !== undefined && path === blobData(digest)) {
    if (!check.hashed.has(digest)) await checkBlob(check, path, digest);
    return;
  }
  if (!path.startsWith(`${repositoriesPath}/`) || !path.endsWith('/link')) {
    throw new SluiceError('InputInvalid', `the file ${path} is no part of the layout`);
  }
  const text = await readLink(check.tree, path);
  if (!isDigest(text)) throw new SluiceError('DigestMismatch', `the link ${path} names no digest`);
  if (!path.endsWith('/current/link')) {
    if (text !== digest)
      throw new SluiceError('DigestMismatch', `the link ${path} names another digest: ${text}`);
    return;
  }
  const revision = `${path.replace(/\/tags\/[^/]+\/current\/link$/, '')}/revisions/sha256/${hexOf(text)}/link`;
  if ((await readLink(check.tree, revision)) === text) return;
  throw new SluiceError('ContentMissing', `the tag ${path} names ${text}, which is not there`);
}

/** A blob that no bundle is known to need: the rest of an interrupted build, or of a bundle that does not open. */
async function checkBlob({ tree, needsKnown }: FileCheck, path: string, digest: Digest): Promise<void> {
  const file = await tree.open(path);
  if (file === undefined) throw new SluiceError('MediaUnreadable', `${path} cannot be read`);
  try {
    const hash = createHash('sha256');
    for (let at = 0; at < file.size; ) {
      const chunk = await file.read(at, Math.min(chunkBytes, file.size - at));
      hash.update(chunk);
      at += chunk.length;
    }
    if (hash.digest('hex') === hexOf(digest)) return;
  } finally {
    await file.close();
  }
  throw new SluiceError(
    'DigestMismatch',
    `the blob ${digest}${needsKnown ? ', which no bundle needs,' : ''} holds other bytes`,
  );
}

async function readLink(tree: Tree, path: string): Promise<string> {
  const file = await tree.open(path);
  if (file === undefined) return '';
  try {
    if (file.size > linkBytesMax) return '';
    return Buffer.from(await file.read(0, file.size)).toString('latin1');
  } finally {
    await file.close();
  }
}

/** The digest that the directories of a path name last. */
function digestIn(path: string): Digest | undefined {
  const hex = /\/([0-9a-f]{64})(?:\/[a-z]+)?$/.exec(path)?.[1];
  return hex === undefined ? undefined : `sha256:${hex}`;
}
