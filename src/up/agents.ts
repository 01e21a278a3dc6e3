import { SluiceError } from '../errors/error.ts';
import { nodeSocketPath, someoneListens } from '../node/socket.ts';
import type { Clock } from '../observe/clock.ts';
import type { NodePlan, UpLayout } from './layout.ts';

/** For an agent to come up: at a busy machine's pace. */
const agentStartMs = 120_000;
const lookMs = 100;

/**
 * Waits until the agent of every node answers on its socket: a cluster that was installed before knows nothing of
 * that, and a socket that is only there may be what a killed agent has left. Errors: Timeout, with the log to read.
 */
export async function untilAgentsAnswer(
  nodes: readonly Pick<NodePlan, 'name' | 'run'>[],
  layout: Pick<UpLayout, 'logFile'>,
  clock: Pick<Clock, 'now' | 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  const end = clock.now() + agentStartMs;
  for (const { name, run } of nodes) {
    while (!(await someoneListens(nodeSocketPath(run)))) {
      signal.throwIfAborted();
      if (clock.now() > end) {
        throw new SluiceError('Timeout', `the agent of ${name} does not answer on its socket`, {
          next: `See what it said: ${layout.logFile(name)}`,
        });
      }
      await clock.sleep(lookMs, signal);
    }
  }
}
