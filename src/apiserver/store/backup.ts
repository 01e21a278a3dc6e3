import { existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { faultPoint } from '../../durable/fault.ts';
import { fsyncDirectory } from '../../durable/file.ts';
import { messageOf, SluiceError } from '../../errors/error.ts';

/** More pages than any database has. */
const pagesMax = 2 ** 30;

/**
 * Copies the database of a server, running or not, as it stands at one moment: with every write that was acknowledged
 * before the call. The copy is whole on the disk under `out` when this resolves, and is itself a database to start from.
 * Errors: NotFound (no database), Conflict (`out` exists), InputInvalid (it cannot be read or written).
 */
export async function backUpDatabase(path: string, out: string): Promise<{ bytes: number }> {
  if (!existsSync(path)) {
    throw new SluiceError('NotFound', `there is no database at ${path}`, {
      next: 'Give the --dir of the API server.',
    });
  }
  if (existsSync(out)) {
    throw new SluiceError('Conflict', `${out} exists already`, {
      next: 'Choose another name for the backup.',
    });
  }
  const partial = `${out}.partial`;
  await rm(partial, { force: true });
  try {
    const source = new DatabaseSync(path, { timeout: 5_000 });
    try {
      // In one step: a step that follows a write of another connection would begin the copy anew.
      await backup(source, partial, { rate: pagesMax });
    } finally {
      source.close();
    }
    const file = await open(partial, 'r+');
    try {
      await file.chmod(0o600);
      await file.sync();
      const { size } = await file.stat();
      faultPoint('apiserver-before-backup');
      await rename(partial, out);
      faultPoint('apiserver-after-backup');
      await fsyncDirectory(dirname(out));
      return { bytes: size };
    } finally {
      await file.close();
    }
  } catch (error) {
    await rm(partial, { force: true });
    throw new SluiceError('InputInvalid', `the backup of ${path} failed: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
