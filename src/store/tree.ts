import { createHash } from 'node:crypto';
import { constants, type FileHandle, open, readdir, readlink, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { SluiceError, systemCode } from '../errors/error.ts';

/**
 * Read-only files below a root, whatever carries them: a directory, an ISO image, a mounted disk.
 * Paths are relative, of plain components with '/' between them ('docker/registry/v2'); '' is the root.
 */
export interface Tree {
  /** For messages: '/run/media/x', 'x.iso'. */
  readonly label: string;
  /** Undefined where there is no such regular file. Errors: MediaLost, MediaUnreadable. */
  open(path: string): Promise<TreeFile | undefined>;
  /** Unsorted; empty where there is no such directory. */
  list(path: string): Promise<TreeEntry[]>;
  close(): Promise<void>;
}

export interface TreeEntry {
  readonly name: string;
  readonly directory: boolean;
}

export interface TreeFile {
  /** Bytes when it was opened. */
  readonly size: number;
  /** When it was last changed, milliseconds; 0 where the carrier does not know. */
  readonly modifiedMs?: number;
  /**
   * Up to `length` bytes from `offset` on; fewer only at the end of the file.
   * @param into where to read to, at least `length` bytes; an implementation may answer another buffer.
   */
  read(offset: number, length: number, into?: Uint8Array): Promise<Uint8Array>;
  close(): Promise<void>;
}

const hashedBytes = 1024 * 1024;

/** The hexadecimal digits of the SHA-256 of all that a file holds, read piece by piece; it stays open. */
export async function sha256OfFile(file: TreeFile): Promise<string> {
  const hash = createHash('sha256');
  for (let at = 0; at < file.size; ) {
    const chunk = await file.read(at, Math.min(hashedBytes, file.size - at));
    if (chunk.length === 0) break;
    hash.update(chunk);
    at += chunk.length;
  }
  return hash.digest('hex');
}

/** Whether a path is one that a tree may be asked for: nothing that climbs or starts at the root. */
export function isTreePath(path: string): boolean {
  if (path.includes('\0') || path.includes('\\')) return false;
  return path === '' || path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

/** The files below a directory. What a link points at outside of it is not there. */
export function directoryTree(root: string): Tree {
  let realRoot: Promise<string> | undefined;
  const rootPath = () => (realRoot ??= realpath(root));
  return {
    label: root,
    async open(path) {
      if (!isTreePath(path) || path === '') return undefined;
      let handle: FileHandle | undefined;
      try {
        handle = await openFile(join(root, path), await rootPath());
        if (handle === undefined) return undefined;
        const { size, mtimeMs } = await handle.stat();
        return treeFile(handle, { size, modifiedMs: mtimeMs }, (error) => lost(root, path, error));
      } catch (error) {
        await handle?.close().catch(() => {});
        if (handle === undefined && isAbsent(error)) return undefined;
        throw lost(root, path, error);
      }
    },
    async list(path) {
      if (!isTreePath(path)) return [];
      try {
        const directory = await realpath(join(root, path));
        const top = await rootPath();
        if (directory !== top && !directory.startsWith(`${top}${sep}`)) return [];
        const entries = await readdir(directory, { withFileTypes: true });
        return entries.map((entry) => ({ name: entry.name, directory: entry.isDirectory() }));
      } catch (error) {
        if (isAbsent(error)) return [];
        throw lost(root, path, error);
      }
    },
    async close() {},
  };
}

function treeFile(
  handle: FileHandle,
  facts: { size: number; modifiedMs: number },
  onError: (error: unknown) => unknown,
): TreeFile {
  return {
    ...facts,
    async read(offset, length, into) {
      const buffer = into ?? Buffer.allocUnsafe(length);
      let done = 0;
      try {
        while (done < length) {
          const { bytesRead } = await handle.read(buffer, done, length - done, offset + done);
          if (bytesRead === 0) break;
          done += bytesRead;
        }
      } catch (error) {
        throw onError(error);
      }
      return buffer.subarray(0, done);
    },
    close: () => handle.close(),
  };
}

/** open(2): a place in the file system and nothing more; Node.js does not name it. */
const atPathOnly = 0o10000000;

/**
 * Opens a regular file below `root`. A link on foreign media may lead to a device, and some do something as soon as
 * they are opened: so first only the place is taken hold of, judged, and then opened as what it was found to be.
 */
async function openFile(path: string, root: string): Promise<FileHandle | undefined> {
  const place = await open(path, atPathOnly);
  try {
    if (!(await place.stat()).isFile() || !(await isInside(place, root))) return undefined;
    return await open(`/proc/self/fd/${place.fd}`, constants.O_RDONLY);
  } finally {
    await place.close();
  }
}

/** Whether what was opened lies below `root`, whatever links led there: asked of the open file, so without a race. */
async function isInside(handle: FileHandle, root: string): Promise<boolean> {
  const real = await readlink(`/proc/self/fd/${handle.fd}`);
  return real.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);
}

function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENXIO', 'ENAMETOOLONG'].includes(systemCode(error) ?? '');
}

function lost(root: string, path: string, error: unknown): unknown {
  if (error instanceof SluiceError) return error;
  // What a drive answers when the disk in it is gone or cannot be read.
  if (['EIO', 'ENODEV', 'ENXIO', 'ESTALE', 'ENOMEDIUM'].includes(systemCode(error) ?? '')) {
    return new SluiceError('MediaLost', `${root} cannot be read any more (${systemCode(error)} at ${path})`, {
      cause: error,
    });
  }
  return error;
}
