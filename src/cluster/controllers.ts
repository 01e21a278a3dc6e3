import type { KubeClient } from '../kube/client.ts';
import { type Clock, systemClock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { createAllObjects } from './all-objects.ts';
import { type ControllerContext, createInformers } from './context.ts';
import { runDeployments } from './deployment-controller.ts';
import { runDisruption } from './disruption-controller.ts';
import { runEventExpiry } from './event-expiry.ts';
import { runGarbageCollector } from './garbage-collector.ts';
import { runJobs } from './job-controller.ts';
import { runNamespaces } from './namespace-controller.ts';
import { runNodeLifecycle } from './node-lifecycle.ts';
import { runScheduler } from './scheduler.ts';
import { runServiceAccounts } from './service-account.ts';

export interface ClusterControllerOptions {
  /** With all rights. */
  readonly client: KubeClient;
  readonly logger: Logger;
  /** Ends the controllers. */
  readonly signal: AbortSignal;
  /** PEM of the authority that signed the API's certificate, for the Pods; without it none is published. */
  readonly caPem?: string;
  readonly clock?: Clock;
  /** 0 to 1, for the names of Pods. */
  readonly random?: () => number;
}

/**
 * Plays scheduler and controller-manager of the embedded engine until `signal` aborts, then waits for what is being
 * done. Never rejects. One such set may run in a cluster: the embedded API has one process, and this runs in it.
 */
export async function runClusterControllers(options: ClusterControllerOptions): Promise<void> {
  const { client, logger, signal, caPem } = options;
  const clock = options.clock ?? systemClock;
  const informers = createInformers({ client, logger, signal, clock });
  const random = options.random ?? Math.random;
  const context: ControllerContext = { client, logger, signal, clock, random, informers };
  const all = createAllObjects(context);
  await Promise.all([
    runScheduler(context),
    runJobs(context),
    runDeployments(context),
    runDisruption(context),
    runNodeLifecycle(context),
    runServiceAccounts(context, caPem),
    runEventExpiry(context),
    runGarbageCollector(context, all),
    runNamespaces(context, all),
    // Last: it begins to tell of changes when all others listen.
    all.run(),
  ]);
}
