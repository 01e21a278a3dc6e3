import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { layoutRoot } from '../store/path.ts';
import { type Device, openDevice } from './device.ts';
import { hintFile } from './hint.ts';
import { findPartList } from './parts.ts';

/** Where each kind of image says what it is: ISO 9660 (ECMA-119 8.4.2), squashfs, tar (POSIX ustar). */
const magics = [
  { at: 32_769, bytes: Buffer.from('CD001') },
  { at: 0, bytes: Buffer.from('hsqs') },
  { at: 257, bytes: Buffer.from('ustar') },
] as const;

const imageName = /\.(?:iso|squashfs|tar)(?:\.[^/]*)?$/;

/**
 * Whether media that cannot be read as such may have been a bundle once: a damaged bundle is told from a path that
 * never held one. A magic counts with one wrong byte in it, since that byte may be the damage.
 */
export async function hasTraceOfBundle(path: string): Promise<boolean> {
  if (imageName.test(path) || (await findPartList(path)) !== undefined) return true;
  const facts = await stat(path);
  if (facts.isDirectory()) return [hintFile, layoutRoot].some((name) => existsSync(join(path, name)));
  if (!facts.isFile() && !facts.isBlockDevice()) return false;
  const device = await openDevice(path);
  try {
    for (const magic of magics) if (await almostHolds(device, magic)) return true;
    return false;
  } finally {
    await device.close();
  }
}

async function almostHolds(device: Device, { at, bytes }: (typeof magics)[number]): Promise<boolean> {
  if (device.size !== undefined && device.size < at + bytes.length) return false;
  const found = await device.read(at, bytes.length);
  return found.filter((byte, index) => byte !== bytes[index]).length <= 1;
}
