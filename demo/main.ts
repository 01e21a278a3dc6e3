import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorTable, messageOf, SluiceError, systemCode } from '../src/errors/error.ts';
import { shellWord } from '../src/process/shell.ts';
import { upLayout } from '../src/up/layout.ts';
import { runningState } from '../src/up/state.ts';
import { stopRunning } from '../src/up/stop.ts';
import { takePlace, takePlaceOver } from './place.ts';
import { createTeller, shown, stopCommand } from './stage.ts';
import { lastWords, runDemo, type Summary } from './story.ts';
import { readWords } from './words.ts';

/** Runs the demo, cleans up whatever happens, prints the summary. Returns the exit code. */
async function main(): Promise<number> {
  const values = readWords(process.argv.slice(2));
  const teller = createTeller(values.json);
  const directory = resolve(values.dir);
  /** There where a cluster was left running on purpose. */
  const keepMark = join(directory, 'keep');
  const layout = upLayout(join(directory, 'cluster'));
  const started = createStarted();
  if (values.stop) {
    if (!existsSync(directory)) {
      teller.say('nothing was left running');
      return 0;
    }
    const place = await takePlaceOver(directory, teller.say);
    await stopRunning(layout);
    await place.remove();
    teller.say(`stopped, and ${shown(directory)} removed`);
    return 0;
  }
  if (existsSync(keepMark) && (await runningState(layout)) !== undefined) {
    throw new SluiceError('Conflict', 'a cluster that was kept is still running', {
      next: `Look around in it (export KUBECONFIG=${shellWord(layout.kubeconfig)}), or end it first: ${stopCommand(directory)}`,
    });
  }
  const place = await takePlace(directory);
  const cleanUp = async () => {
    await started.end();
    await stopRunning(layout);
    await place.remove();
  };
  const interrupt = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt.abort());
  const startedAt = Date.now();
  let summary: Partial<Summary> = {};
  let failure: unknown;
  try {
    await stopRunning(layout); // What an earlier run left, also one that was killed.
    await place.empty();
    await runDemo({
      directory,
      layout,
      teller,
      runner: values.runner,
      program: resolve(values.program),
      keep: values.keep,
      held: values.held,
      signal: interrupt.signal,
      onStarted: started.note,
      tell: (facts) => {
        summary = { ...summary, ...facts };
      },
    });
  } catch (error) {
    failure = error;
  }
  const seconds = Math.round((Date.now() - startedAt) / 100) / 10;
  if (failure === undefined) {
    if (values.keep) await writeFile(keepMark, '');
    else await cleanUp();
    const facts = values.keep ? summary : { ...summary, ...goneWithTheCluster };
    if (values.json) process.stdout.write(`${JSON.stringify({ ...facts, seconds })}\n`);
    return 0;
  }
  return await fail(failure, { ...summary, seconds });

  async function fail(error: unknown, facts: object): Promise<number> {
    const interrupted = interrupt.signal.aborted;
    const words = await lastWords(directory); // Before it is ended, which it would tell too.
    if (interrupted) await cleanUp();
    else {
      await started.end();
      await stopRunning(layout).catch(() => {});
    }
    const known = explained(error);
    const message = interrupted ? 'interrupted' : known.message;
    teller.stream.write(`\nerror: ${message}\n`);
    if (!interrupted) {
      teller.stream.write(`  next: ${known.next}\n`);
      if (words !== '') teller.stream.write(`  the cluster said last:\n${words}\n`);
      if (existsSync(join(layout.dir, 'logs'))) {
        teller.stream.write(
          `  what the processes said: ${shown(join(layout.dir, 'logs'))}/ (${stopCommand(directory)} removes it)\n`,
        );
      }
    }
    if (values.json) process.stdout.write(`${JSON.stringify({ ...facts, error: message })}\n`);
    return interrupted ? 130 : errorTable[known.code].exit;
  }
}

/** What led to the cluster, where it was not kept: the fields stay, and say that nothing is there any more. */
const goneWithTheCluster = { kubeconfig: null, registries: [], caFile: null, authFile: null };

/** Anything thrown as an error with a next step. */
function explained(error: unknown): SluiceError {
  if (error instanceof SluiceError) return error;
  const isDenied = systemCode(error) === 'EACCES' || systemCode(error) === 'EPERM';
  const next = 'Run it as root, or as the user whose clone this is.';
  return new SluiceError(isDenied ? 'Forbidden' : 'Internal', messageOf(error), isDenied ? { next } : {});
}

/** The cluster's process from its start on, before it has said anything of itself. */
function createStarted(): { note(child: ChildProcess): void; end(): Promise<void> } {
  let process: ChildProcess | undefined;
  return {
    note(child) {
      process = child;
    },
    async end() {
      if (process === undefined || process.exitCode !== null || process.signalCode !== null) return;
      process.ref(); // It was let go so that it can outlive us; now it is waited for.
      const gone = new Promise((resolve) => process?.once('exit', resolve));
      process.kill('SIGTERM');
      await gone;
    },
  };
}

try {
  process.exitCode = await main();
} catch (error) {
  const known = explained(error);
  process.stderr.write(`error: ${known.message}\n  next: ${known.next}\n`);
  process.exitCode = errorTable[known.code].exit;
}
