import type { Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { SluiceError, systemCode } from '../errors/error.ts';

/** Random reads from one image file or block device. */
export interface Device {
  readonly path: string;
  /** Bytes of an image file; undefined for a block device, which `stat` gives no size for. */
  readonly size: number | undefined;
  /** Exactly `length` bytes. Errors: MediaLost where they cannot be had. */
  read(offset: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

/** Bytes of one read; callers ask for less. */
const readBytesMax = 64 * 1024 * 1024;

/** What the kernel answers once a disk or a virtual medium is gone. */
const lostCodes = new Set(['EIO', 'ENXIO', 'ENODEV', 'ENOMEDIUM', 'ESTALE', 'ENOTCONN', 'EREMOTEIO']);

/** Whether a system error means that the medium, not the path, is the trouble. */
export function isMediaLoss(error: unknown): boolean {
  return lostCodes.has(systemCode(error) ?? '');
}

/** Errors: NotFound; MediaLost; MediaUnreadable where it is neither a file nor a disk. */
export async function openDevice(path: string): Promise<Device> {
  let handle: FileHandle;
  try {
    // Asked before it is opened: a pipe that nobody writes to would be waited for.
    requireDiskOrFile(path, await stat(path));
    handle = await open(path, 'r');
  } catch (error) {
    throw deviceError(path, error);
  }
  const facts = await handle.stat();
  // A drive without a disk in it, or one of no size.
  if (facts.isBlockDevice() && (await handle.read(Buffer.alloc(1), 0, 1, 0)).bytesRead === 0) {
    await handle.close();
    throw new SluiceError('MediaUnreadable', `there is nothing in ${path}`);
  }
  return {
    path,
    size: facts.isFile() ? facts.size : undefined,
    read: (offset, length) => readExactly(handle, path, offset, length),
    close: () => handle.close(),
  };
}

function requireDiskOrFile(path: string, facts: Stats): void {
  if (facts.isFile() || facts.isBlockDevice()) return;
  const what = facts.isCharacterDevice() ? 'a character device' : facts.isFIFO() ? 'a pipe' : 'a socket';
  throw new SluiceError('MediaUnreadable', `${path} is ${what}, neither a disk nor an image`);
}

async function readExactly(
  handle: FileHandle,
  path: string,
  offset: number,
  length: number,
): Promise<Buffer> {
  if (length > readBytesMax) throw new RangeError(`a read of ${length} bytes`);
  const buffer = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    let bytesRead: number;
    try {
      ({ bytesRead } = await handle.read(buffer, done, length - done, offset + done));
    } catch (error) {
      throw deviceError(path, error);
    }
    // Bytes that the volume says it has and that are not there: cut off since, or never written.
    if (bytesRead === 0) {
      throw new SluiceError(
        'MediaLost',
        `${path} ends at byte ${offset + done}, in the middle of its content`,
      );
    }
    done += bytesRead;
  }
  return buffer;
}

function deviceError(path: string, error: unknown): unknown {
  if (isMediaLoss(error)) {
    return new SluiceError('MediaLost', `${path} can no longer be read (${systemCode(error)})`, {
      cause: error,
    });
  }
  if (systemCode(error) === 'ENOENT') {
    return new SluiceError('NotFound', `${path} does not exist`, { cause: error });
  }
  return error;
}
