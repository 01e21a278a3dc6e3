import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, systemCode } from '../errors/error.ts';
import { run } from '../process/run.ts';
import type { Hold } from './hold.ts';

/** Programs of one directory. */
const hooksMax = 64;
const outputBytesMax = 4096;

export interface HookOptions {
  readonly directory: string;
  readonly timeoutMs: number;
  /** Told to each program: SLUICE_IMAGE, SLUICE_DIGEST. */
  readonly environment: Readonly<Record<string, string>>;
  /** The only uid whose programs are run. */
  readonly ownerUid: number;
}

/**
 * Asks every program in the directory whether the node may reboot, in the order of their names, all at once. Exit 0
 * allows, 1 denies; anything else, a timeout and a program that others could have written is "unknown", which is no
 * permission. No directory means no hooks.
 */
export async function hookHolds(options: HookOptions): Promise<Hold[]> {
  let names: string[];
  try {
    names = (await readdir(options.directory)).filter((name) => !name.startsWith('.')).sort();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    return [unknown('hooks', `${options.directory} cannot be read: ${messageOf(error)}`)];
  }
  if (names.length > hooksMax) {
    return [unknown('hooks', `${options.directory} has more than ${hooksMax} programs`)];
  }
  const answers = await Promise.all(names.map((name) => ask(name, options)));
  return answers.filter((hold) => hold !== undefined);
}

async function ask(name: string, options: HookOptions): Promise<Hold | undefined> {
  const path = join(options.directory, name);
  try {
    const found = await lstat(path);
    if (!found.isFile() || (found.mode & 0o100) === 0) return unknown(name, 'it is no program');
    if (found.uid !== options.ownerUid || (found.mode & 0o022) !== 0) {
      return unknown(
        name,
        `others may write it (uid ${found.uid}, mode ${(found.mode & 0o7777).toString(8)})`,
      );
    }
    const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', ...options.environment };
    const { code, timedOut, stdout, stderr } = await run(path, [], {
      env,
      timeoutMs: options.timeoutMs,
      outputBytesMax,
    });
    const said = (stdout.trim() || stderr.trim()).split('\n').at(-1)?.slice(0, 200) ?? '';
    if (timedOut) return unknown(name, `it took longer than ${options.timeoutMs / 1000} s`);
    if (code === 0) return undefined;
    if (code !== 1) return unknown(name, `it ended with ${code ?? 'a signal'}: ${said}`);
    return {
      gate: 'hooks',
      reason: 'HookDenied',
      message: `the hook ${name} says no: ${said || 'without a reason'}`,
    };
  } catch (error) {
    return unknown(name, messageOf(error));
  }
}

function unknown(name: string, why: string): Hold {
  return { gate: 'hooks', reason: 'HookUnknown', message: `the hook ${name} gave no answer: ${why}` };
}
