import type { Command } from 'commander';
import { SluiceError } from '../errors/error.ts';
import type { LockAccess } from '../lock/access.ts';

export interface LockAccessOptions {
  readonly lockSecretFile?: string;
  readonly lockSecretForAll?: boolean;
  readonly lockTrustUser?: readonly string[];
}

/** Adds the options by which a lock server knows who may take a slot. */
export function withLockAccess(command: Command): Command {
  return command
    .option(
      '--lock-secret-file <file>',
      'clients show this secret (updates.fleet_lock.secret_file on nodes); without it every other machine may ask',
    )
    .option('--lock-secret-for-all', 'also who asks from this machine shows it, root too')
    .option(
      '--lock-trust-user <name...>',
      'users of this machine who need no secret, such as zincati (root and the own user never do)',
    );
}

/** Errors: NotFound, InputInvalid, Usage. */
export async function lockAccessOf(options: LockAccessOptions): Promise<LockAccess> {
  const trustedUids = await Promise.all((options.lockTrustUser ?? []).map(uidOf));
  const { lockSecretFile: path, lockSecretForAll: secretForAll = false } = options;
  if (path === undefined) {
    if (secretForAll) throw new SluiceError('Usage', '--lock-secret-for-all needs --lock-secret-file');
    return { trustedUids };
  }
  const { rememberSecrets } = await import('../lock/secret-memory.ts');
  const { systemClock } = await import('../observe/clock.ts');
  const read = async () => [await serverSecret(path)];
  await read(); // What is wrong with it is said at the start.
  return { secrets: rememberSecrets(read, systemClock), secretForAll, trustedUids };
}

async function serverSecret(path: string): Promise<string> {
  const { readSecretFile, secretCharsMin } = await import('../lock/secret.ts');
  const secret = await readSecretFile(path);
  if (secret.length >= secretCharsMin) return secret;
  throw new SluiceError('InputInvalid', `${path} has fewer than ${secretCharsMin} characters`, {
    next: 'Make one that nobody guesses: openssl rand -hex 32.',
  });
}

async function uidOf(name: string): Promise<number> {
  if (/^\d{1,10}$/.test(name)) return Number(name);
  const { runOrThrow } = await import('../process/run.ts');
  if (!/^[a-z_][\w.-]{0,63}\$?$/i.test(name))
    throw new SluiceError('Usage', `'${name}' is not the name of a user`);
  return Number((await runOrThrow('id', ['-u', name])).stdout.trim());
}
