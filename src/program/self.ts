import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isPackaged, shippedRoot } from './files.ts';

/**
 * What the runtime is started with: `./sluice` says the same, and the single file has them inside. Several of these
 * processes share a machine, so the young generation of the heap is 2 MiB; and an expression of a policy that
 * backtracks without end goes on with the engine that cannot. (`./sluice node run` saves more.)
 */
export const runtimeFlags: readonly string[] = [
  '--max-semi-space-size=2',
  '--disable-warning=ExperimentalWarning',
  '--enable-experimental-regexp-engine-on-excessive-backtracks',
];

/** The word by which it becomes the supervisor of one sandboxed container; not for people. */
export const shimCommand = 'sandbox-shim';

/** How this very program is started again: what comes before the words of a command. */
export function selfCommand(): readonly [string, ...string[]] {
  // The single file would take flags of the runtime for words of a command.
  if (isPackaged) return [process.execPath];
  const launcher = join(shippedRoot, 'sluice');
  if (existsSync(launcher)) return [launcher];
  // What was extracted of a single file has one script for all commands, which runs now.
  return [process.execPath, ...runtimeFlags, process.argv[1] ?? ''];
}
