import { note } from './output.ts';

/** A person stopped watching (Ctrl-C): what was asked for goes on, and is said to. */
export function leave(message: string, next: readonly string[]): void {
  note(message);
  for (const each of next) note(`  ${each}`);
  process.exitCode = interruptedExitCode;
}

/** 128 + SIGINT, as a shell says it. */
const interruptedExitCode = 130;
