import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';

/** Binds Pods without a node to nodes (kube-scheduler) until `signal` aborts. */
export async function runScheduler(_options: {
  readonly client: KubeClient;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}): Promise<void> {}
