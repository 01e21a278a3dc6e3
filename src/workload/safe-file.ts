import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { systemCode } from '../errors/error.ts';

/**
 * The first bytes of a regular file that a container could write; '' where there is none. A link is not
 * followed: it would name a file of the host.
 */
export async function readHead(path: string, bytesMax: number): Promise<string> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'ENXIO', 'ENOTDIR', 'EACCES'].includes(systemCode(error) ?? '')) return '';
    throw error;
  }
  try {
    if (!(await handle.stat()).isFile()) return '';
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytesMax), 0, bytesMax, 0);
    return buffer.subarray(0, bytesRead).toString('utf8');
  } finally {
    await handle.close();
  }
}
