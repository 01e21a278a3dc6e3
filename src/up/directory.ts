import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { SluiceError, systemCode } from '../errors/error.ts';
import type { UpLayout } from './layout.ts';

/** By these an earlier start is known, the claim first: each one begins with it. Others have an `api` or `pki`, too. */
const marksOf = (layout: UpLayout) => [layout.claim, layout.state, layout.installed, layout.firstStart];

/** A person may name any directory. Errors: Conflict where files stand in it that are of no `sluice up`. */
export async function requireOwnDirectory(layout: UpLayout): Promise<void> {
  const names = await readdir(layout.dir).catch((error: unknown): string[] => {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  });
  // A new file system has a lost+found.
  if (names.every((name) => name === 'lost+found') || marksOf(layout).some((mark) => existsSync(mark)))
    return;
  throw new SluiceError('Conflict', `${layout.dir} is not empty, and no cluster was ever started from it`, {
    next: 'Name a directory for the cluster alone, empty or not there yet: --dir DIR',
  });
}
