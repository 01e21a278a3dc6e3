import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { VolumeFiles } from './volumes.ts';

/**
 * Makes a directory hold exactly these files, each replaced as a whole. Only the kubelet writes here: containers see
 * it read-only. Resolves to whether anything changed.
 */
export async function writeVolume(directory: string, files: VolumeFiles): Promise<boolean> {
  await mkdir(directory, { recursive: true, mode: 0o755 });
  let changed = false;
  for (const [path, { bytes, mode }] of files) {
    const target = join(directory, path);
    if (await isEqual(target, bytes, mode)) continue;
    await mkdir(dirname(target), { recursive: true, mode: 0o755 });
    const temporary = join(dirname(target), `.${randomBytes(6).toString('hex')}.tmp`);
    await writeFile(temporary, bytes, { mode });
    await chmod(temporary, mode); // The mode given above passes through the umask.
    await rename(temporary, target);
    changed = true;
  }
  for (const path of await listFiles(directory, '')) {
    if (files.has(path)) continue;
    await rm(join(directory, path), { force: true });
    changed = true;
  }
  return changed;
}

async function isEqual(path: string, bytes: Buffer, mode: number): Promise<boolean> {
  try {
    const facts = await stat(path);
    return facts.size === bytes.length && (facts.mode & 0o777) === mode && bytes.equals(await readFile(path));
  } catch {
    return false;
  }
}

async function listFiles(directory: string, prefix: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(join(directory, prefix), { withFileTypes: true })) {
    const path = prefix === '' ? entry.name : `${prefix}/${entry.name}`;
    if (entry.isDirectory()) found.push(...(await listFiles(directory, path)));
    else found.push(path);
  }
  return found;
}
