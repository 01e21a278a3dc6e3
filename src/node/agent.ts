import { join } from 'node:path';
import { messageOf, SluiceError } from '../errors/error.ts';
import { createFinalizationAgent, type Desired, type FinalizationAgent } from '../finalize/agent.ts';
import { type ClockEvidence, createSyncMeter } from '../finalize/clock-trust.ts';
import type { FinalizeConfig } from '../finalize/config.ts';
import { type Bus, createBus } from '../finalize/dbus/bus.ts';
import { systemBusPath } from '../finalize/dbus/connection.ts';
import type { OsDriver } from '../finalize/driver.ts';
import { createFleetLockClient } from '../finalize/fleet-lock.ts';
import { createHost, followZincati } from '../finalize/host.ts';
import { followLogind } from '../finalize/logind.ts';
import type { Marker } from '../finalize/marker.ts';
import { stagedInMemory } from '../finalize/memory.ts';
import { createAgentMetrics } from '../finalize/metrics.ts';
import { serveMetrics } from '../finalize/metrics-socket.ts';
import { createNotifier, createPulse, statusText } from '../finalize/notify.ts';
import type { AgentReport } from '../finalize/report.ts';
import { approval, createService } from '../finalize/service.ts';
import { createUpdateSource } from '../finalize/update-source.ts';
import type { HttpClient } from '../http/client.ts';
import { lockIdOf } from '../lock/identity.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { NodeRoutes } from './socket.ts';

export interface NodeAgentOptions {
  readonly driver: OsDriver;
  readonly stateDir: string;
  readonly runDir: string;
  readonly machineId: string;
  readonly bootId: string;
  readonly configDirectories: readonly string[];
  /** What the cluster wants of this node; absent on a host without one, which then asks its update graph. */
  readonly desired?: () => Desired | undefined;
  readonly report?: (report: AgentReport) => Promise<void>;
  /** What the API server's clock says; absent where there is none. */
  readonly skew?: () => Promise<Omit<ClockEvidence, 'declared'>>;
  /** Whom it tells what it counts. */
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface NodeAgent {
  readonly agent: FinalizationAgent;
  /** What programs on this machine may ask over the node's socket. */
  readonly routes: NodeRoutes;
  run(): Promise<void>;
}

/** Puts one finalization agent together: with the host where reboots are real, with the update graph where there is no cluster. */
export function createNodeAgent(options: NodeAgentOptions): NodeAgent {
  const { clock, driver, logger, signal } = options;
  const metrics = createAgentMetrics(options.metrics);
  const http = lazyHttpClient();
  const notifier = createNotifier(logger);
  let last: AgentReport | undefined;
  let config: FinalizeConfig | undefined;
  const lockId = lockIdOf(options.machineId);
  const stateFile = join(options.stateDir, 'finalize.json');
  const setWindow = (window: Marker | undefined) => agent.setWindow(window);
  const service = createService({ report: () => last, setWindow, now: () => clock.now() });
  const bus = driver.rebootsHost ? hostBus() : undefined;
  const synchronized = bus === undefined ? undefined : createSyncMeter(bus, clock);
  const source =
    options.desired === undefined
      ? createUpdateSource({
          http,
          driver,
          nodeUuid: lockId,
          stagedBefore: () => stagedInMemory(stateFile),
          config: () => config,
          changed: () => agent.wake(),
          metrics,
          clock,
          random: Math.random,
          logger,
          signal,
        })
      : undefined;

  function hostBus(): Bus {
    return createBus(systemBusPath(), async (connection) => {
      await followLogind(connection, () => agent.wake());
      await followZincati(connection, () => agent.wake());
      await service
        .attach(connection)
        .catch((error) => logger.warn({ error: messageOf(error) }, 'no name on the bus'));
    });
  }

  async function clockEvidence(): Promise<Omit<ClockEvidence, 'declared'>> {
    const said = await synchronized?.();
    return { ...(await options.skew?.()), ...(said === undefined ? {} : { synchronized: said }) };
  }

  const pulse = createPulse(clock);
  const agent = createFinalizationAgent({
    stateFile,
    configDirectories: options.configDirectories,
    bootID: options.bootId,
    lockId,
    driver,
    lockClient: createFleetLockClient(http, metrics, { bootID: options.bootId, signal }),
    ...(bus === undefined ? {} : { host: createHost(bus, clock) }),
    clockEvidence,
    desired: options.desired ?? (() => source?.desired()),
    async report(report) {
      last = report;
      service.changed(report);
      void notifier.status(statusText(report, source?.checkedAt() ?? 0));
      await options.report?.(report);
    },
    onConfig(next) {
      config = next;
    },
    onProgress: (withinMs) => pulse.expect(withinMs),
    markerOwnerUid: process.getuid?.() ?? 0,
    metrics,
    clock,
    random: Math.random,
    logger,
    signal,
  });

  async function watchdog(): Promise<void> {
    let stuck = false;
    while (notifier.aliveMs !== undefined && !signal.aborted) {
      if (pulse.beats()) await notifier.alive();
      else if (!stuck)
        logger.error({}, 'the agent is stuck: the service manager is not told any more that it lives');
      stuck = !pulse.beats();
      await clock.sleep(notifier.aliveMs, signal);
    }
  }

  return {
    agent,
    routes: {
      'GET /v1/finalization': async () => ({
        ...last,
        deadend: source?.deadend(),
        graph:
          source === undefined ? undefined : { problem: source.problem(), checkedAt: source.checkedAt() },
      }),
      'POST /v1/window': async (body) => setWindow(windowOf(body)),
      'DELETE /v1/window': async () => setWindow(undefined),
      'POST /v1/approve': async (body) => {
        const { release = '' } = (body ?? {}) as { release?: string };
        await setWindow(approval(last, release, clock.now()));
      },
    },
    async run() {
      // Metrics are worth no outage: where the socket cannot be made, the agent does its work without it.
      const path = join(options.runDir, 'public', 'metrics.promsock');
      const dump = await serveMetrics(path, options.metrics.render).catch((error) => {
        logger.warn({ path, error: messageOf(error) }, 'metrics are not served');
      });
      try {
        await notifier.ready();
        await Promise.all([agent.run(), source?.run(), watchdog()]);
      } finally {
        await notifier.stopping();
        bus?.close();
        await dump?.close();
        await http.close();
      }
    },
  };
}

function windowOf(body: unknown): Marker {
  const { notAfter, once, release, ...others } = (body ?? {}) as Record<string, unknown>;
  const fits =
    Number.isSafeInteger(notAfter) &&
    (once === undefined || typeof once === 'boolean') &&
    (release === undefined || typeof release === 'string') &&
    Object.keys(others).length === 0;
  if (!fits)
    throw new SluiceError(
      'InputInvalid',
      'a window is {notAfter, once?, release?}, notAfter in Unix seconds',
    );
  return {
    notAfter: notAfter as number,
    once: once === true,
    ...(typeof release === 'string' ? { release } : {}),
  };
}

/** The HTTP library is a quarter of the agent's memory: a host that asks no server does without it. */
function lazyHttpClient(): HttpClient {
  let client: Promise<HttpClient> | undefined;
  const open = () => {
    client ??= import('../http/client.ts').then(({ createHttpClient }) => createHttpClient());
    return client;
  };
  return {
    request: async (request) => (await open()).request(request),
    close: async () => (await client)?.close(),
  };
}
