import { link, mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fsyncDirectory } from '../durable/file.ts';
import { SluiceError, systemCode } from '../errors/error.ts';
import { encryptKey } from '../trust/encrypted-key.ts';
import { generateSigningKey, parseTrustedKey, type TrustedKey } from '../trust/keys.ts';

export interface WrittenKeys {
  readonly privatePath: string;
  readonly publicPath: string;
  readonly key: TrustedKey;
}

/**
 * Makes a signing key: `sluice.key` (0600) and `sluice.pub` in a directory, which is made where it is missing.
 * Neither is ever overwritten, not even by two of these at once. Errors: Conflict.
 *
 * @param password encrypts the private key, as cosign does.
 */
export async function writeKeys(directory: string, password?: string): Promise<WrittenKeys> {
  await mkdir(directory, { recursive: true });
  const pair = generateSigningKey();
  const privatePath = join(directory, 'sluice.key');
  const publicPath = join(directory, 'sluice.pub');
  const scratch = await mkdtemp(join(directory, '.keygen-'));
  try {
    // Linked into place when whole: a link, unlike a rename, fails where something stands already.
    const { privatePem } = pair;
    const written = password === undefined ? privatePem : encryptKey(privatePem, password);
    await writeFlushed(join(scratch, 'key'), written, 0o600);
    await writeFlushed(join(scratch, 'pub'), pair.publicPem, 0o644);
    await place(join(scratch, 'key'), privatePath);
    await place(join(scratch, 'pub'), publicPath).catch(async (error: unknown) => {
      await rm(privatePath, { force: true }); // Ours: half a pair is of no use.
      throw error;
    });
    await fsyncDirectory(directory);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  return { privatePath, publicPath, key: parseTrustedKey('sluice', pair.publicPem) };
}

async function place(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
    throw new SluiceError('Conflict', `${to} exists already, and keys are never overwritten`, {
      cause: error,
      next: 'Give another directory, or move the old key away if it is truly no longer needed.',
    });
  }
}

async function writeFlushed(path: string, text: string, mode: number): Promise<void> {
  const handle = await open(path, 'wx', mode);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
