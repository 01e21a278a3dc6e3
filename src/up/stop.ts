import { SluiceError } from '../errors/error.ts';
import { systemClock } from '../observe/clock.ts';
import type { UpLayout } from './layout.ts';
import { runningState, startTicksOf } from './state.ts';

/** Milliseconds within which a cluster ends in order; it is not killed after them, but the wait fails. */
const stopMsMax = 90_000;

/** Ends the cluster of a directory and waits until it is gone. False where none runs. Errors: Timeout. */
export async function stopRunning(layout: UpLayout): Promise<boolean> {
  const state = await runningState(layout);
  if (state === undefined) return false;
  process.kill(state.pid, 'SIGTERM');
  const end = Date.now() + stopMsMax;
  while ((await startTicksOf(state.pid)) === state.startTicks) {
    if (Date.now() > end) {
      throw new SluiceError('Timeout', `process ${state.pid} has not ended within ${stopMsMax / 1000} s`, {
        next: `See what it waits for in ${layout.dir}/logs, then end it: kill -9 ${state.pid}`,
      });
    }
    await systemClock.sleep(100);
  }
  return true;
}
