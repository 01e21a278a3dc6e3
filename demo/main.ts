import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { errorTable, messageOf, SluiceError } from '../src/errors/error.ts';
import { upLayout } from '../src/up/layout.ts';
import { stopRunning } from '../src/up/stop.ts';
import { createTeller, root } from './stage.ts';
import { runDemo, type Summary } from './story.ts';

const directory = join(root, '.quickstart');

/** Runs the demo, cleans up whatever happens, prints the summary. Returns the exit code. */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      keep: { type: 'boolean', default: false },
      stop: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      runner: { type: 'string', default: 'auto' },
    },
  });
  const teller = createTeller(values.json);
  const layout = upLayout(join(directory, 'cluster'));
  const cleanUp = async () => {
    await stopRunning(layout);
    await rm(directory, { recursive: true, force: true });
  };
  if (values.stop) {
    const ran = existsSync(directory);
    await cleanUp();
    teller.say(ran ? 'stopped, and .quickstart removed' : 'nothing was left running');
    return 0;
  }
  const interrupt = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt.abort());
  const startedAt = Date.now();
  let summary: Partial<Summary> = {};
  let failure: unknown;
  try {
    await cleanUp(); // What an earlier run left, also one that was killed.
    await runDemo({
      directory,
      layout,
      teller,
      runner: values.runner,
      keep: values.keep,
      signal: interrupt.signal,
      tell: (facts) => {
        summary = { ...summary, ...facts };
      },
    });
  } catch (error) {
    failure = error;
  }
  const seconds = Math.round((Date.now() - startedAt) / 100) / 10;
  if (failure === undefined) {
    if (!values.keep) await cleanUp();
    if (values.json) process.stdout.write(`${JSON.stringify({ ...summary, seconds })}\n`);
    return 0;
  }
  return await fail(failure, { ...summary, seconds });

  async function fail(error: unknown, facts: object): Promise<number> {
    const interrupted = interrupt.signal.aborted;
    if (interrupted) await cleanUp();
    else await stopRunning(layout).catch(() => {});
    const message = interrupted ? 'interrupted' : messageOf(error);
    teller.stream.write(`\nerror: ${message}\n`);
    if (error instanceof SluiceError && !interrupted) teller.stream.write(`  next: ${error.next}\n`);
    if (!interrupted) teller.stream.write('  what the processes said: .quickstart/cluster/logs/\n');
    if (values.json) process.stdout.write(`${JSON.stringify({ ...facts, error: message })}\n`);
    if (interrupted) return 130;
    return error instanceof SluiceError ? errorTable[error.code].exit : 1;
  }
}

process.exitCode = await main();
