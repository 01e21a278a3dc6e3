import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { isSluiceError, SluiceError, systemCode } from '../errors/error.ts';
import { type TreeContent, treeContent } from '../store/content.ts';
import { layoutRoot } from '../store/path.ts';
import type { Tree } from '../store/tree.ts';
import { type Device, isMediaLoss, openDevice } from './device.ts';
import { mediaDirectoryTree } from './directory.ts';
import { type MediaHint, parseHint, readHintBytes } from './hint.ts';
import { isIso, isoTree } from './iso.ts';
import { findPartList, lastPartProblem, openParts } from './parts.ts';
import { revocableTree } from './revocable.ts';
import { squashfsTree } from './squashfs.ts';
import { isSquashfs } from './squashfs-volume.ts';
import { isTar, tarTree } from './tar.ts';

export type MediaFormat = 'directory' | 'iso' | 'squashfs' | 'tar';

/** A disk, an image file or a directory that is open. What it holds is not verified. */
export interface Media {
  readonly path: string;
  readonly format: MediaFormat;
  readonly tree: Tree;
  readonly content: TreeContent;
  /** Empty where media carry no hint, or one that cannot be read. */
  readonly hint: MediaHint;
  /** Nothing of it is open when it resolves; who reads on is told MediaLost. */
  close(): Promise<void>;
}

/**
 * Opens a directory, an ISO or squashfs image (file or block device), a tar archive, or one of these in parts. Nothing
 * is mounted, and no privilege is needed beyond reading it.
 *
 * Errors: NotFound, MediaUnreadable, MediaLost.
 */
export async function openMedia(path: string): Promise<Media> {
  const opened = await openTree(path);
  const { format } = opened;
  const tree = revocableTree(opened.tree);
  try {
    if ((await tree.list(layoutRoot)).length === 0) {
      throw new SluiceError('MediaUnreadable', `${path} carries no content: it has no ${layoutRoot}`);
    }
    return {
      path,
      format,
      tree,
      content: treeContent(tree),
      hint: await readHint(tree),
      close: () => tree.close(),
    };
  } catch (error) {
    await tree.close();
    throw error;
  }
}

/** That something stands where media are meant; what it is, is not looked at. Errors: as `openMedia`. */
export async function requireMedia(path: string): Promise<void> {
  if ((await findPartList(path)) === undefined) await isDirectory(path);
}

/** Opens what stands at a path as a tree of files, by what it is. Errors: as `openMedia`. */
export async function openTree(path: string): Promise<{ tree: Tree; format: MediaFormat }> {
  const parts = await findPartList(path);
  if (parts === undefined && (await isDirectory(path))) {
    return { tree: await mediaDirectoryTree(path), format: 'directory' };
  }
  const device = parts === undefined ? await openDevice(path) : await openParts(parts);
  try {
    return await openImage(device);
  } catch (error) {
    await device.close();
    const problem =
      parts !== undefined && isSluiceError(error, 'MediaUnreadable')
        ? await lastPartProblem(parts).catch(() => undefined)
        : undefined;
    if (problem === undefined) throw error;
    throw new SluiceError('MediaUnreadable', problem, {
      cause: error,
      next: `Copy that part again; sha256sum -c ${basename(parts ?? path)} tells of all of them.`,
    });
  }
}

async function openImage(device: Device): Promise<{ tree: Tree; format: MediaFormat }> {
  if (await isIso(device)) return { tree: await isoTree(device), format: 'iso' };
  if (await isSquashfs(device)) return { tree: await squashfsTree(device), format: 'squashfs' };
  if (await isTar(device)) return { tree: await tarTree(device), format: 'tar' };
  throw new SluiceError('MediaUnreadable', `${device.path} is no ISO image, squashfs image or tar archive`, {
    next: 'Give what bundle build has written (a directory, an .iso, .squashfs or .tar file, or its parts), or mount the disk first.',
  });
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (isMediaLoss(error)) {
      throw new SluiceError('MediaLost', `${path} cannot be read (${systemCode(error)})`, { cause: error });
    }
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') {
      throw new SluiceError('NotFound', `${path} does not exist`, { cause: error });
    }
    throw error;
  }
}

async function readHint(tree: Tree): Promise<MediaHint> {
  try {
    const bytes = await readHintBytes(tree);
    return bytes === undefined ? { bundles: [] } : parseHint(bytes);
  } catch (error) {
    // A broken hint must not keep a good bundle from being found; verifying media tells of it.
    if (error instanceof SluiceError && error.code !== 'MediaLost') return { bundles: [] };
    throw error;
  }
}
