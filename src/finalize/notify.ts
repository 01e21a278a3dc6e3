import { messageOf } from '../errors/error.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { run } from '../process/run.ts';
import type { AgentReport } from './report.ts';

/** Tells the service manager how the agent stands, by `systemd-notify`; does nothing where none asks (NOTIFY_SOCKET). */
export interface Notifier {
  ready(): Promise<void>;
  status(text: string): Promise<void>;
  alive(): Promise<void>;
  /** What was said of the agent is not true of one that has ended. */
  stopping(): Promise<void>;
  /** How often `alive` must be called at least, milliseconds; undefined where no watchdog is set. */
  readonly aliveMs?: number;
}

export function createNotifier(logger: Logger, environment: NodeJS.ProcessEnv = process.env): Notifier {
  const asked = environment.NOTIFY_SOCKET !== undefined;
  let said = '';
  let sent: Promise<void> = Promise.resolve();
  /** In their order: each is a process of its own, and the last word is the one that stays. */
  function send(...words: string[]): Promise<void> {
    if (asked) sent = sent.then(() => deliver(words));
    return sent;
  }
  async function deliver(words: readonly string[], tries = 3): Promise<void> {
    let why: string;
    try {
      const { code, stderr, signal } = await run('systemd-notify', words, { timeoutMs: 10_000 });
      if (code === 0) return;
      // The signal that ends a service is for each of its processes, those that it starts just then too.
      if (signal !== null && tries > 1) return await deliver(words, tries - 1);
      why = stderr.trim() || `systemd-notify ended with ${code ?? signal}`;
    } catch (error) {
      why = messageOf(error);
    }
    logger.warn({ error: why }, 'the service manager was not told');
  }
  const watchdog = Number(environment.WATCHDOG_USEC);
  return {
    ready: () => send('--ready', '--status=initialization complete'),
    async status(text) {
      if (text === said) return;
      said = text;
      await send(`--status=${text}`);
    },
    alive: () => send('WATCHDOG=1'),
    stopping: () => send('STOPPING=1', 'STATUS='),
    ...(asked && watchdog > 0 ? { aliveMs: watchdog / 1000 / 3 } : {}),
  };
}

/** Whether a loop goes on: it says by when it will say so again, and one that does not is stuck. */
export function createPulse(clock: Pick<Clock, 'monotonic'>): {
  expect(withinMs: number): void;
  beats(): boolean;
} {
  let due = Number.POSITIVE_INFINITY;
  return {
    expect: (withinMs) => {
      due = clock.monotonic() + withinMs;
    },
    beats: () => clock.monotonic() < due,
  };
}

/** The line that `systemctl status` shows; where zincati has words for it, they are zincati's. Pure. */
export function statusText(report: AgentReport, checkedAt: number): string {
  const version = report.os.staged?.version ?? report.os.staged?.digest ?? '';
  const reasons = report.holds.map(({ reason }) => reason);
  if (!report.enabled) return 'initialization complete, auto-updates logic disabled by configuration';
  switch (report.state) {
    case 'Idle':
      return checkedAt === 0
        ? 'initialization complete, auto-updates logic enabled'
        : `periodically polling for updates (last checked ${day(checkedAt)})`;
    case 'Staging':
      return trying(report);
    case 'Finalizing':
      return `update applied, waiting for reboot: ${version}`;
    case 'WaitingForSlot':
      return `update staged: ${version}; reboot pending due to update strategy`;
    case 'Held':
      if (report.staging !== undefined) {
        return reasons.every((reason) => reason === 'StageFailed')
          ? trying(report)
          : `found update on remote: ${report.staging.release}; held: ${reasons.join(', ')}`;
      }
      if (report.holds.every(({ gate }) => gate === 'users')) {
        return `update staged: ${version}; reboot delayed due to active user sessions`;
      }
      if (report.holds.every(({ gate }) => gate === 'periodic' || gate === 'marker_file')) {
        return `update staged: ${version}; reboot pending due to update strategy`;
      }
      return `update staged: ${version}; reboot held: ${reasons.join(', ')}`;
  }
}

function trying({ staging }: AgentReport): string {
  return `trying to stage ${staging?.release ?? 'an update'} (failed attempts: ${staging?.failures ?? 0})`;
}

/** `Sun 2026-11-29 20:02:38 UTC`. */
function day(at: number): string {
  const text = new Date(at).toISOString();
  return `${new Date(at).toUTCString().slice(0, 3)} ${text.slice(0, 10)} ${text.slice(11, 19)} UTC`;
}
