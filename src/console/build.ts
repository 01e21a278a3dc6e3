import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { runOrThrow } from '../process/run.ts';
import { isPackaged, shippedRoot } from '../program/files.ts';

const web = join(shippedRoot, 'web');
const dist = join(web, 'dist');
const vite = join(shippedRoot, 'node_modules', 'vite', 'bin', 'vite.js');
/** In `dist`: the hash of what it was built from. */
const markName = '.built-from';
const buildMs = 300_000;

/**
 * What the page takes from `src/` beside its own files: data and pure functions, which tests/house.test.ts holds.
 * A change of them is a change of the page.
 */
export const sharedSources: readonly string[] = [
  'src/api',
  'src/cli/release-view.ts',
  'src/console/answers.ts',
  'src/gates/finding.ts',
  'src/gates/run-request.ts',
  'src/gates/version.ts',
  'src/kube/backoff.ts',
  'src/observe/bytes.ts',
  'src/observe/count.ts',
  'src/release/in-use.ts',
  'src/release/known.ts',
  'src/release/pause.ts',
  'src/update/refusal.ts',
];

/** How the built console stands. */
export type BuildState =
  | { readonly state: 'fresh' | 'built' }
  /** It was built from other sources, and what builds it is not installed. */
  | { readonly state: 'old' | 'missing'; readonly next: string };

const next = 'Install what builds it, then build it: npm ci && npm run build:web';

/** Builds the console where its sources have changed since the last time. Errors: CommandFailed. */
export async function ensureBuilt(say: (text: string) => void): Promise<BuildState> {
  // The single file carries the built files alone, and always.
  if (isPackaged) return { state: 'fresh' };
  const wanted = await hashOfSources();
  const built = await readFile(join(dist, markName), 'utf8').catch(() => undefined);
  if (built?.trim() === wanted) return { state: 'fresh' };
  if (!existsSync(vite)) return { state: existsSync(join(dist, 'index.html')) ? 'old' : 'missing', next };
  say('building the web console');
  const fresh = `${dist}.${process.pid}`;
  try {
    await runOrThrow(process.execPath, [vite, 'build', web, '--outDir', fresh, '--logLevel', 'warn'], {
      cwd: shippedRoot,
      timeoutMs: buildMs,
    });
    await writeFile(join(fresh, markName), `${wanted}\n`);
    await rm(dist, { recursive: true, force: true });
    await rename(fresh, dist);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return { state: 'built' };
}

async function hashOfSources(): Promise<string> {
  const hash = createHash('sha256');
  for (const part of ['web', 'package-lock.json', ...sharedSources]) {
    for (const path of await filesOf(join(shippedRoot, part))) {
      hash.update(`${relative(shippedRoot, path)}\n`).update(await readFile(path));
    }
  }
  return hash.digest('hex');
}

async function filesOf(path: string): Promise<string[]> {
  try {
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && !join(entry.parentPath, entry.name).startsWith(dist))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return [path];
    throw error;
  }
}
