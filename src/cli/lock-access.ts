import type { Command } from 'commander';
import { SluiceError } from '../errors/error.ts';
import type { LockAccess } from '../lock/access.ts';

export interface LockAccessOptions {
  readonly lockSecretFile?: string;
  readonly lockTrustUser?: readonly string[];
}

/** Adds the options by which a lock server knows who may take a slot. */
export function withLockAccess(command: Command): Command {
  return command
    .option(
      '--lock-secret-file <file>',
      'clients show this secret (updates.fleet_lock.secret_file on nodes); without it every other machine may ask',
    )
    .option(
      '--lock-trust-user <name...>',
      'users of this machine who need no secret, such as zincati (root and the own user never do)',
    );
}

const secretBytesMin = 16;

/** Errors: NotFound, InputInvalid, Usage. */
export async function lockAccessOf(options: LockAccessOptions): Promise<LockAccess> {
  const trustedUids = await Promise.all((options.lockTrustUser ?? []).map(uidOf));
  if (options.lockSecretFile === undefined) return { trustedUids };
  const { readSecretFile } = await import('../lock/secret.ts');
  const secret = await readSecretFile(options.lockSecretFile);
  if (secret.length < secretBytesMin) {
    throw new SluiceError(
      'InputInvalid',
      `${options.lockSecretFile} has fewer than ${secretBytesMin} characters`,
      {
        next: 'Make one that nobody guesses: openssl rand -hex 32.',
      },
    );
  }
  return { secret, trustedUids };
}

async function uidOf(name: string): Promise<number> {
  if (/^\d{1,10}$/.test(name)) return Number(name);
  const { runOrThrow } = await import('../process/run.ts');
  if (!/^[a-z_][\w.-]{0,63}\$?$/i.test(name))
    throw new SluiceError('Usage', `'${name}' is not the name of a user`);
  return Number((await runOrThrow('id', ['-u', name])).stdout.trim());
}
