import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { openBundle, type VerifiedBundle } from '../bundle/bundle.ts';
import { type Delta, readDelta } from '../bundle/delta.ts';
import { bundleRepository, isBundleName } from '../bundle/document.ts';
import { readJson, writeJson } from '../durable/file.ts';
import { type ErrorCode, isSluiceError, messageOf, SluiceError } from '../errors/error.ts';
import { type Media, openMedia } from '../media/media.ts';
import type { Logger } from '../observe/log.ts';
import type { Digest } from '../oci/digest.ts';
import type { TrustedKey } from '../trust/keys.ts';
import { createTurns } from '../turns/turns.ts';

/** A bundle on attached media: verified, or refused and why. */
export type AttachedBundle =
  | {
      readonly name: string;
      readonly state: 'Verified';
      readonly bundle: VerifiedBundle;
      /** What these media leave out of it; absent where they carry it whole. */
      readonly delta?: Delta;
    }
  | { readonly name: string; readonly state: 'Refused'; readonly reason: string; readonly message: string };

/** Media as a person attached them: until they are detached, through restarts and loss. */
export interface Attachment {
  /** Absolute; what identifies the attachment. */
  readonly path: string;
  readonly state: 'Present' | 'Lost';
  readonly format: string | undefined;
  /** What was seen on it last, also while it is lost. */
  readonly bundles: readonly AttachedBundle[];
  readonly media: Media | undefined;
}

export interface AttachmentsOptions {
  /** Directory for what must survive a restart. */
  readonly stateDir: string;
  readonly keys: () => Promise<readonly TrustedKey[]>;
  /** Binds a name to the first content accepted under it. Errors: Conflict. */
  readonly accept: (name: string, digest: Digest) => Promise<void>;
  readonly logger: Logger;
}

export interface Attachments {
  list(): readonly Attachment[];
  /**
   * Opens and verifies media. What is refused stays listed with its reason, and is neither served nor copied.
   * Errors: NotFound, MediaUnreadable, and Conflict where too many are attached.
   */
  attach(path: string): Promise<Attachment>;
  /** By path, or by the name of a bundle on it. Errors: NotFound. */
  detach(what: string): Promise<Attachment>;
  /** Looks whether media have gone or come back. Answers whether anything changed. */
  check(): Promise<boolean>;
  /** Verifies everything again: the trusted keys have changed. */
  verifyAgain(): Promise<void>;
  close(): Promise<void>;
}

const attachmentsMax = 16;
/** Bundles on one medium; more are not looked at. */
const bundlesMax = 16;

interface Entry {
  path: string;
  /** Device, inode and change time of the path when it was opened: another disk at the same path is another. */
  identity: string | undefined;
  media: Media | undefined;
  bundles: readonly AttachedBundle[];
}

/** As it stands in `media.json`: names only serve messages until the media are verified again. */
interface StoredEntry {
  readonly path: string;
  readonly names: readonly string[];
}

/**
 * Knows what was attached before the restart; the first `check` opens and verifies it again.
 */
export async function openAttachments(options: AttachmentsOptions): Promise<Attachments> {
  const file = join(options.stateDir, 'media.json');
  const entries = new Map<string, Entry>();
  for (const stored of (await readJson<StoredEntry[]>(file)) ?? []) {
    const lost = stored.names.map((name) => lostBundle(name, stored.path));
    entries.set(stored.path, { path: stored.path, identity: undefined, media: undefined, bundles: lost });
  }
  /** One change at a time: check() runs on a timer beside what people do. */
  const inTurn = createTurns();

  async function open(entry: Entry): Promise<void> {
    const identity = await identityOf(entry.path);
    const media = await openMedia(entry.path);
    try {
      entry.bundles = await verifyMedia(media, options);
    } catch (error) {
      await media.close().catch(() => {});
      throw error;
    }
    const before = entry.media;
    if (identity === entry.identity && (await answers(before))) {
      // The same as it stands open already: whoever reads from that goes on.
      await media.close();
      return;
    }
    entry.media = media;
    entry.identity = identity;
    await before?.close().catch(() => {});
  }

  async function lose(entry: Entry): Promise<void> {
    const { media } = entry;
    entry.media = undefined;
    entry.identity = undefined;
    await media?.close().catch(() => {});
    options.logger.warn({ path: entry.path }, 'attached media are gone');
  }

  async function persist(): Promise<void> {
    const stored = [...entries.values()].map(({ path, bundles }) => ({
      path,
      names: bundles.map((each) => each.name),
    }));
    await writeJson(file, stored);
  }

  async function check(): Promise<boolean> {
    let changed = false;
    for (const entry of entries.values()) {
      const here = await identityOf(entry.path).catch(() => undefined);
      const present = here !== undefined && here === entry.identity && (await answers(entry.media));
      if (present) continue;
      if (entry.media !== undefined) {
        await lose(entry);
        changed = true;
      }
      if (here === undefined) continue;
      try {
        await open(entry);
        options.logger.info({ path: entry.path }, 'attached media are back');
        changed = true;
      } catch (error) {
        // Half-mounted media are tried again at the next look.
        options.logger.debug({ path: entry.path, error: messageOf(error) }, 'media cannot be opened yet');
      }
    }
    if (changed) await persist();
    return changed;
  }

  return {
    list: () => [...entries.values()].map(view),
    attach: (path) =>
      inTurn(async () => {
        const absolute = resolve(path);
        const entry = entries.get(absolute) ?? {
          path: absolute,
          identity: undefined,
          media: undefined,
          bundles: [],
        };
        if (!entries.has(absolute) && entries.size >= attachmentsMax) {
          throw new SluiceError('Conflict', `${attachmentsMax} media are attached already`, {
            next: 'Detach one: sluice media detach PATH',
          });
        }
        await open(entry);
        entries.set(absolute, entry);
        await persist();
        return view(entry);
      }),
    detach: (what) =>
      inTurn(async () => {
        const entry =
          entries.get(resolve(what)) ??
          [...entries.values()].find((each) => each.bundles.some((bundle) => bundle.name === what));
        if (entry === undefined) {
          throw new SluiceError('NotFound', `nothing is attached as ${what}`, {
            next: 'See what is: sluice media ls',
          });
        }
        const gone = view(entry);
        entries.delete(entry.path);
        await persist();
        await entry.media?.close().catch(() => {});
        return { ...gone, media: undefined };
      }),
    check: () => inTurn(check),
    verifyAgain: () =>
      inTurn(async () => {
        for (const entry of entries.values()) {
          if (entry.media !== undefined) entry.bundles = await verifyMedia(entry.media, options);
        }
      }),
    close: () =>
      inTurn(async () => {
        for (const entry of entries.values()) await entry.media?.close().catch(() => {});
      }),
  };
}

function view(entry: Entry): Attachment {
  const { path, media, bundles } = entry;
  return {
    path,
    media,
    state: media === undefined ? 'Lost' : 'Present',
    format: media?.format,
    bundles: media === undefined ? bundles.map((each) => lostBundle(each.name, path)) : bundles,
  };
}

function lostBundle(name: string, path: string): AttachedBundle {
  const message = `the media at ${path} are gone: attach them again, or detach them`;
  return { name, state: 'Refused', reason: 'MediaLost', message };
}

async function identityOf(path: string): Promise<string> {
  try {
    const { dev, ino, ctimeMs } = await stat(path);
    return `${dev}:${ino}:${ctimeMs}`;
  } catch (error) {
    throw new SluiceError('NotFound', `there is nothing at ${path}`, { cause: error });
  }
}

/** A disk that was pulled may keep its path while every read fails. */
async function answers(media: Media | undefined): Promise<boolean> {
  try {
    return media !== undefined && (await media.tree.list('docker/registry/v2')).length > 0;
  } catch {
    return false;
  }
}

/**
 * Every bundle on the media with the outcome of its verification. Names come from the tags and from the hint;
 * neither is believed beyond that.
 * Errors: MediaUnreadable where there is no bundle at all; MediaLost.
 */
async function verifyMedia(
  media: Media,
  options: Pick<AttachmentsOptions, 'keys' | 'accept' | 'logger'>,
): Promise<AttachedBundle[]> {
  const hinted = media.hint.bundles.map((each) => each.name);
  const tagged = (await media.content.tags(bundleRepository)).filter(isBundleName);
  const names = [...new Set([...tagged, ...hinted.filter(isBundleName)])].sort().slice(0, bundlesMax);
  if (names.length === 0) {
    throw new SluiceError('MediaUnreadable', `${media.path} carries no bundle`);
  }
  const keys = await options.keys();
  const bundles: AttachedBundle[] = [];
  for (const name of names) {
    try {
      const bundle = await openBundle(media.content, { name }, keys);
      const delta = await readDelta(media.content, bundle.digest, keys);
      await options.accept(name, bundle.digest);
      bundles.push({ name, state: 'Verified', bundle, ...(delta === undefined ? {} : { delta }) });
      options.logger.info({ name, digest: bundle.digest, key: bundle.signedBy.name }, 'bundle verified');
    } catch (error) {
      // Only what is wrong with the bundle refuses it; anything else is tried again.
      if (!isSluiceError(error, ...refusalCodes)) throw error;
      const reason = error.code === 'Conflict' ? 'BundleConflict' : error.code;
      bundles.push({ name, state: 'Refused', reason, message: messageOf(error) });
      options.logger.warn({ name, path: media.path, reason, error: messageOf(error) }, 'bundle refused');
    }
  }
  return bundles;
}

/** What refuses a bundle; status has the code itself as its reason, except that a taken name says so. */
const refusalCodes = [
  'NotFound',
  'SignatureMissing',
  'SignatureUntrusted',
  'DigestMismatch',
  'DigestInvalid',
  'ContentMissing',
  'InputInvalid',
  'InputTooLarge',
  'Conflict',
] as const satisfies ErrorCode[];
