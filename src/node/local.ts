import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serveOperations } from '../http/operations.ts';
import { systemClock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { createNodeAgent } from './agent.ts';
import { readMachineId } from './machine-id.ts';
import { createOsDriver, type OsDriverName, rebootExitCode } from './os-driver.ts';
import { nodeSocketPath, serveNodeSocket } from './socket.ts';

export interface LocalNodeOptions {
  /** Where state is kept; `run` holds the sockets. */
  readonly dir: string;
  readonly run: string;
  readonly configDirectories: readonly string[];
  readonly osDriver: OsDriverName;
  readonly bootId?: string;
  readonly metrics: Metrics;
  /** Where health and metrics are served; absent: metrics at the socket in the run directory alone. */
  readonly status?: { readonly address: string; readonly port: number };
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Runs the agent of a host by its configuration alone: no API, no store, no Pods. Resolves to its exit code. */
export async function runLocalNode(options: LocalNodeOptions): Promise<number> {
  const reboot = new AbortController();
  const signal = AbortSignal.any([options.signal, reboot.signal]);
  const machineId = await readMachineId(options.dir);
  const bootId = options.bootId ?? (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  await mkdir(options.dir, { recursive: true, mode: 0o755 });
  const driver = await createOsDriver(options.osDriver, {
    osDir: join(options.dir, 'os'),
    bootId,
    reboot: () => reboot.abort(),
    pull: async () => ({}),
  });
  const node = createNodeAgent({
    driver,
    stateDir: join(options.dir, 'state'),
    runDir: options.run,
    machineId,
    bootId,
    configDirectories: options.configDirectories,
    metrics: options.metrics,
    clock: systemClock,
    logger: options.logger,
    signal,
  });
  const { metrics } = options;
  const status =
    options.status === undefined ? undefined : await serveOperations(options.status, { metrics });
  const socket = await serveNodeSocket(nodeSocketPath(options.run), node.routes, options.logger);
  try {
    await node.run();
  } finally {
    await socket.close();
    await status?.close();
  }
  return reboot.signal.aborted ? rebootExitCode : 0;
}
