import { isSluiceError, messageOf } from '../src/errors/error.ts';

/** Runs a script of packaging to its end; what goes wrong is told as every command of ours tells it. */
export async function runScript(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    const next = isSluiceError(error) && error.next !== '' ? `\n  next: ${error.next}` : '';
    process.stderr.write(`error: ${messageOf(error)}${next}\n`);
    process.exitCode = 1;
  }
}
