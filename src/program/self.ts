import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isPackaged, shippedRoot } from './files.ts';

/**
 * What the runtime is started with, always: `./sluice` says the same, and the single file has them inside. Several of
 * these processes share a machine and rest most of the time, so the young generation of the heap is 2 MiB, and there is
 * one optimizing compiler, for what is hot for long and not for a start (6 MiB less in an idle agent); and an expression
 * of a policy that backtracks without end goes on with the engine that cannot.
 */
export const runtimeFlags: readonly string[] = [
  '--max-semi-space-size=2',
  '--no-maglev',
  '--invocation-count-for-turbofan=20000',
  '--disable-warning=ExperimentalWarning',
  '--enable-experimental-regexp-engine-on-excessive-backtracks',
];

/** The word by which it becomes the supervisor of one sandboxed container; not for people. */
export const shimCommand = 'sandbox-shim';

/** How this very program is started again: what comes before the words of a command. */
export function selfCommand(): readonly [string, ...string[]] {
  // The single file would take flags of the runtime for words of a command.
  if (isPackaged) return [process.execPath];
  const source = join(shippedRoot, 'src', 'cli', 'main.ts');
  // What was extracted of a single file has one script for all commands, which runs now.
  return [process.execPath, ...runtimeFlags, existsSync(source) ? source : (process.argv[1] ?? '')];
}
