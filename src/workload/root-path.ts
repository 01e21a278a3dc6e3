import { lstat, mkdir, readlink } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { SluiceError, systemCode } from '../errors/error.ts';

const linksMax = 40;

/**
 * Where an absolute path of a container lies on the host: links are followed as the container would, so that
 * none leads out of `root`. Valid only while nothing of the container runs.
 *
 * @param options.create makes the directories that are missing (0755).
 * Errors: InputInvalid for a loop of links, or a file where a directory must be.
 */
export async function resolveInRoot(
  root: string,
  path: string,
  options: { create?: boolean } = {},
): Promise<string> {
  let pending = posix.normalize(`/${path}`).split('/').filter(Boolean);
  let done: string[] = [];
  let links = 0;
  while (pending.length > 0) {
    const [name = '', ...rest] = pending;
    pending = rest;
    if (name === '..') {
      done = done.slice(0, -1);
      continue;
    }
    if (name === '.') continue;
    const here = join(root, ...done, name);
    const kind = await kindOf(here);
    if (kind === 'link') {
      links += 1;
      if (links > linksMax) throw new SluiceError('InputInvalid', `${path} has too many links in it`);
      const target = await readlink(here);
      if (target.startsWith('/')) done = [];
      pending = [...target.split('/').filter(Boolean), ...pending];
      continue;
    }
    if (kind === 'file' && pending.length > 0) {
      throw new SluiceError(
        'InputInvalid',
        `${join('/', ...done, name)} is a file where ${path} needs a directory`,
      );
    }
    if (kind === 'none' && options.create === true) await mkdir(here, { mode: 0o755 });
    done = [...done, name];
  }
  return join(root, ...done);
}

async function kindOf(path: string): Promise<'none' | 'link' | 'directory' | 'file'> {
  try {
    const found = await lstat(path);
    return found.isSymbolicLink() ? 'link' : found.isDirectory() ? 'directory' : 'file';
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 'none';
    throw error;
  }
}

/**
 * The program that a container would execute, as execvp(3) finds it; undefined where there is none.
 * @param searchPath the PATH of the container.
 */
export async function findProgram(
  root: string,
  program: string,
  searchPath: string,
  workingDir: string,
): Promise<string | undefined> {
  const candidates = program.includes('/')
    ? [posix.resolve(`/${workingDir}`, program)]
    : searchPath
        .split(':')
        .map((directory) => posix.join(directory === '' ? workingDir : directory, program));
  for (const candidate of candidates) {
    const found = await resolveInRoot(root, candidate).catch(() => undefined);
    if (found === undefined) continue;
    const state = await lstat(found).catch(() => undefined);
    if (state?.isFile() && (state.mode & 0o111) !== 0) return candidate;
  }
  return undefined;
}
