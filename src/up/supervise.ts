import { type ChildProcess, spawn } from 'node:child_process';
import { appendFile, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { Writable } from 'node:stream';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';

/** The exit code by which a node process asks for the reboot that the `simulated` OS driver plays. */
export const simulatedRebootCode = 133;

/** One command that is kept running. */
export interface ChildSpec {
  readonly name: string;
  /** The words after `sluice`, made anew at each start: a reboot changes the boot id. */
  readonly args: () => readonly string[];
  readonly logFile: string;
  /** Ended after all that are not: those use it until their end. */
  readonly endedLast?: boolean;
  /** Called before the start that follows a simulated reboot. */
  readonly onReboot?: () => void;
}

/** What happens after a child has ended: pure, so that the table in the test is the policy. */
export type AfterExit = { kind: 'stop' } | { kind: 'reboot' } | { kind: 'restart'; delayMs: number };

const restartDelayMs = 500;
const restartDelayMsMax = 15_000;

/**
 * @param failures how often in a row it has ended before `steadyMs` of running.
 */
export function afterExit(code: number | null, stopping: boolean, failures: number): AfterExit {
  if (stopping) return { kind: 'stop' };
  if (code === simulatedRebootCode) return { kind: 'reboot' };
  return {
    kind: 'restart',
    delayMs: Math.min(restartDelayMsMax, restartDelayMs * 2 ** Math.min(failures, 10)),
  };
}

/** A child that ran this long without ending is steady: its earlier failures are forgotten. */
const steadyMs = 10_000;

export interface Supervisor {
  start(spec: ChildSpec): void;
  /** Ends them at once, then those that are `endedLast`: SIGTERM, after `graceMs` SIGKILL. */
  stop(graceMs?: number): Promise<void>;
  pids(): Record<string, number>;
}

interface Running {
  readonly spec: ChildSpec;
  child: ChildProcess | undefined;
  ended: Promise<void>;
}

/**
 * Keeps the shipped commands running as children of this process. They follow it: where it is killed, they end.
 *
 * @param options.program the interpreter and its arguments before the words of a command.
 */
export function createSupervisor(options: {
  readonly program: readonly [string, ...string[]];
  readonly env?: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when a child has ended by itself; `failures` counts those in a row. */
  readonly onFailure?: (spec: ChildSpec, failures: number) => void;
}): Supervisor {
  const stopping = new AbortController();
  const running: Running[] = [];

  async function keep(entry: Running): Promise<void> {
    let failures = 0;
    for (;;) {
      const startedAt = options.clock.now();
      const code = await runOnce(entry);
      if (options.clock.now() - startedAt > steadyMs) failures = 0;
      const next = afterExit(code, stopping.signal.aborted, failures);
      switch (next.kind) {
        case 'stop':
          return;
        case 'reboot':
          options.logger.info({ child: entry.spec.name }, 'simulated reboot');
          entry.spec.onReboot?.();
          break;
        case 'restart':
          failures += 1;
          options.onFailure?.(entry.spec, failures);
          options.logger.warn(
            { child: entry.spec.name, code, delayMs: next.delayMs },
            'child ended; starting again',
          );
          await options.clock.sleep(next.delayMs, stopping.signal);
          if (stopping.signal.aborted) return;
      }
    }
  }

  function runOnce(entry: Running): Promise<number | null> {
    const [command, ...prefix] = options.program;
    mkdirSync(dirname(entry.spec.logFile), { recursive: true });
    const log = logSink(entry.spec.logFile);
    return new Promise((resolve) => {
      const child = spawn(command, [...prefix, ...entry.spec.args()], {
        // A pipe that nobody writes to: its end tells the child that we are gone.
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { ...(options.env ?? process.env), SLUICE_FOLLOW_PARENT: '1' },
        // A group of its own: Ctrl-C on the terminal reaches this process alone, which then ends them in order.
        detached: true,
      });
      entry.child = child;
      child.stdin?.on('error', () => {});
      child.stdout?.pipe(log, { end: false });
      child.stderr?.pipe(log, { end: false });
      child.on('error', (error) => options.logger.error({ child: entry.spec.name, error }, 'cannot start'));
      child.on('close', (code) => {
        entry.child = undefined;
        log.end();
        resolve(code);
      });
    });
  }

  /** Appends to a file. What cannot be written is dropped: a full disk must end neither us nor the child. */
  function logSink(path: string): Writable {
    return new Writable({ write: (chunk, _, done) => appendFile(path, chunk, () => done()) });
  }

  return {
    start(spec) {
      const entry: Running = { spec, child: undefined, ended: Promise.resolve() };
      entry.ended = keep(entry);
      running.push(entry);
    },
    async stop(graceMs = 10_000) {
      stopping.abort();
      const end = async (entry: Running) => {
        entry.child?.kill('SIGTERM');
        const timer = setTimeout(() => entry.child?.kill('SIGKILL'), graceMs);
        await entry.ended;
        clearTimeout(timer);
      };
      await Promise.all(running.filter(({ spec }) => spec.endedLast !== true).map(end));
      await Promise.all(running.filter(({ spec }) => spec.endedLast === true).map(end));
    },
    pids: () =>
      Object.fromEntries(
        running.flatMap((entry) =>
          entry.child?.pid === undefined ? [] : [[entry.spec.name, entry.child.pid]],
        ),
      ),
  };
}
