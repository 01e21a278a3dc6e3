import type { Node } from '../api/core.ts';
import type { Platform } from '../api/kinds.ts';
import { names } from '../api/names.ts';
import type { NodeUpdate } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import { type Operations, serveOperations, withOperations } from '../http/operations.ts';
import { type RunningServer, serve } from '../http/server.ts';
import { withCaches } from '../kube/cached-client.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Reconciled } from '../kube/controller.ts';
import { createInformer } from '../kube/informer.ts';
import { runWithLeaderElection } from '../kube/leader.ts';
import { withoutImages } from '../kube/node.ts';
import type { LockAccess } from '../lock/access.ts';
import { keepDefaultGroup } from '../lock/default-group.ts';
import { createLockServer, drainHolders } from '../lock/server.ts';
import { type Clock, systemClock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { runPreflightController } from '../preflight/controller.ts';
import { runUpdateGate } from '../preflight/update-gate.ts';
import { keepCertificates } from '../release/certificates.ts';
import { clusterContent, type RegistryIdentity } from '../release/content.ts';
import { runReleaseController } from '../release/controller.ts';
import { trustedKeys } from '../release/trusted-keys.ts';
import { runPoolWindows } from '../rollout/pool-controller.ts';
import { runUpdateController } from '../update/controller.ts';
import { observeCluster, observeLease, observeReconciles } from './metrics.ts';

export interface ControllerOptions {
  readonly client: KubeClient;
  readonly platform: Platform;
  /** By which this process reads the nodes' registries; absent: the certificates that it makes itself are used. */
  readonly registry?: RegistryIdentity;
  /** Where that may change while this process runs. */
  readonly rereadRegistry?: () => Promise<RegistryIdentity>;
  /** Directory of trusted keys beside those of the ConfigMap. */
  readonly trustedKeysDirectory?: string;
  /** The release that the cluster was installed with, by digest; used while the history is empty. */
  readonly initialRelease?: string;
  /** Where the FleetLock protocol is served; absent: not at all. */
  readonly lock?: { readonly address: string; readonly port: number; readonly access: LockAccess };
  /** Tells this process from every other that may lead. */
  readonly identity: string;
  readonly metrics: Metrics;
  /** Where health and metrics are served; absent: beside the FleetLock protocol alone. */
  readonly status?: { readonly address: string; readonly port: number };
  readonly clock?: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

const leaseName = 'sluice-controller';

/**
 * Runs every controller while this process leads, and the lock server always: its state is in the API, so each
 * replica answers alike. Resolves when the signal aborts; rejects where the lease was lost, so that the process
 * ends and a new one begins with nothing in memory.
 */
export async function runControllers(options: ControllerOptions): Promise<void> {
  const { client, logger, metrics, signal } = options;
  const clock = options.clock ?? systemClock;
  const nodes = createInformer<Node>(client, client.kinds.Node, {
    logger,
    clock,
    signal,
    keep: withoutImages,
  });
  const locks = createLockServer({
    client: withCaches(client, [nodes], clock),
    metrics,
    clock,
    logger: logger.child({ part: 'lock' }),
    ...(options.lock === undefined ? {} : { access: options.lock.access }),
    signal,
  });
  const sight = observeLease(metrics, clock);
  const onReconciled = observeReconciles(metrics);
  observeCluster(metrics, client);
  const operations: Operations = { metrics, ready: { api: sight.problem } };
  const servers: RunningServer[] = [];
  if (options.lock !== undefined) {
    const server = await serve({ ...options.lock, handler: withOperations(operations, locks.handler) });
    logger.info({ address: server.address, port: server.port }, 'fleet lock answers');
    servers.push(server);
  }
  if (options.status !== undefined) servers.push(await serveOperations(options.status, operations));
  try {
    const { lost } = await runWithLeaderElection({
      client,
      leaseName,
      namespace: names(options.platform).clusterVersionNamespace,
      identity: options.identity,
      signal,
      logger,
      clock,
      onReach: sight.reached,
      onLeading: sight.leading,
      run: (leading, holds) => {
        const scope = { logger, clock, signal: leading };
        const updates = createInformer<NodeUpdate>(client, client.kinds.NodeUpdate, scope);
        const own = withCaches(client.fenced(holds), [nodes, updates], clock);
        return lead({ ...options, client: own }, clock, onReconciled, leading);
      },
    });
    if (lost) {
      throw new SluiceError(
        'Unreachable',
        'the lease could not be renewed in time, so another may lead now',
        {
          next: 'Nothing, where a supervisor starts the controller again: it goes on from what the API holds.',
        },
      );
    }
  } finally {
    for (const server of servers) await server.close();
  }
}

/** What one process alone does; its client writes only while the lease is ours. */
async function lead(
  options: ControllerOptions,
  clock: Clock,
  onReconciled: (facts: Reconciled) => void,
  signal: AbortSignal,
): Promise<void> {
  const { client, platform } = options;
  const certificates = () => keepCertificates(client, [], clock);
  const registry = options.registry ?? (await certificates());
  const content = clusterContent(client, registry, {
    reread: options.registry === undefined ? certificates : options.rereadRegistry,
  });
  const part = (name: string) => ({
    client,
    clock,
    onReconciled,
    logger: options.logger.child({ part: name }),
    signal,
  });
  const reader = (name: string) => ({
    ...part(name),
    platform,
    content,
    trustedKeys: () => trustedKeys(client, options.trustedKeysDirectory),
  });
  /** Where Sluice itself takes the cluster from one release to the next. */
  const updating = () => [
    runUpdateController({
      ...reader('update'),
      ...(options.initialRelease === undefined ? {} : { initialRelease: options.initialRelease }),
    }),
    drainHolders({ ...part('lock'), metrics: options.metrics }),
    ...(options.lock === undefined ? [] : [keepDefaultGroup(part('lock'))]),
  ];
  /** The cluster-version operator applies releases there, the machine-config operator reboots nodes. */
  const besideOpenShift = () => [runUpdateGate(part('update-gate')), runPoolWindows(part('pool-windows'))];
  try {
    await Promise.all([
      runReleaseController({
        ...reader('release'),
        keys: reader('release').trustedKeys,
        certificates: options.registry === undefined,
      }),
      runPreflightController(reader('preflight')),
      ...(platform === 'openshift' ? besideOpenShift() : updating()),
    ]);
  } finally {
    await content.close();
  }
}
