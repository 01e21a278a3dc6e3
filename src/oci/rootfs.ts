import { constants } from 'node:fs';
import { chmod, link, lstat, mkdir, open, readdir, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Header } from 'tar-stream';
import { SluiceError, systemCode } from '../errors/error.ts';

/** A directory that layers are put into, one above the other. */
export interface Rootfs {
  startLayer(): void;
  /** Takes one entry of a layer; reads its bytes where it is a file. Errors: InputInvalid. */
  add(header: Header, bytes: AsyncIterable<Uint8Array>): Promise<void>;
  /** Gives directories their modes, which might have kept files out before. */
  finish(): Promise<void>;
}

const pathBytesMax = 4096;
const depthMax = 256;
const linkHopsMax = 40;
const whiteout = '.wh.';
const opaque = '.wh..wh..opq';

/**
 * Entries come from strangers: each path is walked from the root component by component, links are followed as if
 * the root were '/', and nothing is ever written through the last component.
 */
export function createRootfs(root: string): Rootfs {
  /** Real directories by the names they were reached by, until a link or a removal may have changed one. */
  const resolved = new Map<string, string>();
  const directoryModes = new Map<string, number>();
  let ownPaths = new Set<string>();

  /** The real directory of these components below the root; missing ones are made. */
  async function directoryOf(parts: readonly string[]): Promise<string> {
    const key = parts.join('/');
    const cached = resolved.get(key);
    if (cached !== undefined) return cached;
    const pending = [...parts].reverse();
    const real: string[] = [];
    let hops = 0;
    for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
      if (part === '' || part === '.') continue;
      if (part === '..') {
        real.pop();
        continue;
      }
      const path = join(root, ...real, part);
      const facts = await lstat(path).catch(absent);
      if (facts === undefined) {
        await mkdir(path, 0o755);
        real.push(part);
      } else if (facts.isDirectory()) {
        real.push(part);
      } else if (facts.isSymbolicLink()) {
        hops += 1;
        if (hops > linkHopsMax) throw invalid(key, 'its links go in a circle');
        const target = await readlink(path);
        if (target.startsWith('/')) real.length = 0;
        pending.push(...target.split('/').reverse());
      } else {
        throw invalid(key, `${part} is a file there`);
      }
    }
    const directory = join(root, ...real);
    resolved.set(key, directory);
    return directory;
  }

  async function remove(path: string): Promise<void> {
    await rm(path, { recursive: true, force: true });
    resolved.clear();
  }

  /** Applies a whiteout (image-spec, layer.md, "Whiteouts"); what this layer itself brought stays. */
  async function hide(directory: string, name: string): Promise<void> {
    if (name === opaque) {
      for (const child of await readdir(directory)) {
        if (!ownPaths.has(join(directory, child))) await remove(join(directory, child));
      }
      return;
    }
    const hidden = name.slice(whiteout.length);
    if (hidden === '' || hidden === '.' || hidden === '..') throw invalid(name, 'it hides no file');
    if (hidden.startsWith(whiteout)) return; // aufs kept its own records so; they hide nothing.
    if (!ownPaths.has(join(directory, hidden))) await remove(join(directory, hidden));
  }

  async function place(path: string, header: Header, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    const standing = await lstat(path).catch(absent);
    if (header.type === 'directory') {
      if (standing !== undefined && !standing.isDirectory()) await remove(path);
      if (standing === undefined || !standing.isDirectory()) await mkdir(path, 0o755);
      directoryModes.set(path, (header.mode ?? 0o755) & 0o1777);
      return;
    }
    if (header.type === 'link') {
      const target = partsOf(header.linkname ?? '');
      const name = target.pop();
      if (name === undefined) throw invalid(header.name, 'it links to nothing');
      const source = join(await directoryOf(target), name);
      if (source === path) return;
      const facts = await lstat(source).catch(absent);
      if (facts === undefined || facts.isDirectory()) throw invalid(header.name, 'it links to no file');
      if (standing !== undefined) await remove(path);
      await link(source, path);
      return;
    }
    if (standing !== undefined) await remove(path);
    switch (header.type) {
      case 'symlink': {
        const target = header.linkname ?? '';
        if (target === '' || target.includes('\0') || Buffer.byteLength(target) > pathBytesMax) {
          throw invalid(header.name, 'its target is no path');
        }
        await symlink(target, path);
        return;
      }
      case 'file':
      case 'contiguous-file':
      case null:
      case undefined:
        await writeFile(path, (header.mode ?? 0o644) & 0o777, header.mtime, bytes);
        return;
      default:
        // Devices and FIFOs: whoever runs the image brings its own /dev.
        return;
    }
  }

  return {
    startLayer() {
      ownPaths = new Set();
    },

    async add(header, bytes) {
      const parts = partsOf(header.name);
      const name = parts.pop();
      if (name === undefined) return; // The root itself.
      const directory = await directoryOf(parts);
      if (name.startsWith(whiteout)) return await hide(directory, name);
      const path = join(directory, name);
      await place(path, header, bytes);
      // Opaque whiteouts hide by what stands in their directory: a file keeps all directories above it too.
      for (let own = path; own.length > root.length && !ownPaths.has(own); own = join(own, '..'))
        ownPaths.add(own);
    },

    async finish() {
      for (const [path, mode] of [...directoryModes].reverse()) {
        const facts = await lstat(path).catch(absent);
        if (facts?.isDirectory() === true) await chmod(path, mode);
      }
    },
  };
}

async function writeFile(
  path: string,
  mode: number,
  modified: Date | undefined,
  bytes: AsyncIterable<Uint8Array>,
): Promise<void> {
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;
  const handle = await open(path, flags, mode);
  try {
    for await (const chunk of bytes) {
      for (let done = 0; done < chunk.length; ) {
        done += (await handle.write(chunk, done, chunk.length - done)).bytesWritten;
      }
    }
    await handle.chmod(mode); // The umask has no say in what an image holds.
    if (modified !== undefined && !Number.isNaN(modified.getTime())) await handle.utimes(modified, modified);
  } finally {
    await handle.close();
  }
}

/** The components of an entry's name. Errors: InputInvalid for names that climb. */
function partsOf(name: string): string[] {
  if (name.includes('\0') || Buffer.byteLength(name) > pathBytesMax) throw invalid(name, 'it is no path');
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw invalid(name, 'it leaves the image');
  if (parts.length > depthMax) throw invalid(name, `it is deeper than ${depthMax}`);
  return parts;
}

function absent(error: unknown): undefined {
  if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined;
  throw error;
}

function invalid(name: string, why: string): SluiceError {
  return new SluiceError(
    'InputInvalid',
    `the entry ${JSON.stringify(name.slice(0, 200))} of a layer is refused: ${why}`,
  );
}
