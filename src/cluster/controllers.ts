import type { KubeClient } from '../kube/client.ts';
import { type Clock, systemClock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { runScheduler } from './scheduler.ts';

/** What every controller of this room is given. */
export interface ClusterControllerOptions {
  readonly client: KubeClient;
  readonly logger: Logger;
  /** Ends the controllers. */
  readonly signal: AbortSignal;
  readonly clock?: Clock;
}

/** Plays scheduler and controller-manager of the embedded engine until `signal` aborts. Never rejects. */
export async function runClusterControllers(options: ClusterControllerOptions): Promise<void> {
  const clock = options.clock ?? systemClock;
  await Promise.all([runScheduler({ ...options, clock })]);
}
