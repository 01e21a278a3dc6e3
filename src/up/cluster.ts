import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { names } from '../api/names.ts';
import type { ClusterVersion } from '../api/resources.ts';
import { ensureBuilt } from '../console/build.ts';
import { askForLink } from '../console/link.ts';
import { claimFile } from '../durable/claim.ts';
import { messageOf, SluiceError } from '../errors/error.ts';
import { createKubeClient, type KubeClient } from '../kube/client.ts';
import { findCondition } from '../kube/conditions.ts';
import { loadKubeconfig } from '../kube/kubeconfig.ts';
import { waitFor } from '../kube/wait.ts';
import { keysFolder } from '../node/registry-side.ts';
import { rfc3339, systemClock } from '../observe/clock.ts';
import { counted } from '../observe/count.ts';
import type { Logger } from '../observe/log.ts';
import { shellWord } from '../process/shell.ts';
import { loadTrustedKeys } from '../trust/keys.ts';
import { notIsolatedBy, probeRunner, type RunnerProbe } from '../workload/probe.ts';
import { untilAgentsAnswer } from './agents.ts';
import { keepAuthFile } from './auth-file.ts';
import { requireOwnDirectory } from './directory.ts';
import { finishFirstStart } from './first-start.ts';
import { configureNode, ensureInstalled, ensureLockSecret, requireFirstRelease } from './install.ts';
import { type NodePlan, type UpLayout, upLayout } from './layout.ts';
import { leaveNoContainers } from './leftovers.ts';
import { claimNetwork, freePort, type Network } from './network.ts';
import { ensureAuthority, ensureIdentity, type Identity, identityName, writeKubeconfig } from './pki.ts';
import { seedCluster } from './seed.ts';
import { readState, requireStopped, startTicksOf, type UpState, writeState } from './state.ts';
import { type ChildSpec, createSupervisor, type Supervisor } from './supervise.ts';

export type WorkloadChoice = 'auto' | 'podman' | 'sandbox' | 'none';

export interface UpOptions {
  readonly dir: string;
  /** Media that carry the release that the cluster is installed with; not needed at a later start. */
  readonly release: string | undefined;
  /** Files of public keys, SPKI PEM. */
  readonly keyFiles: readonly string[];
  readonly nodes: number;
  readonly workload: WorkloadChoice;
  /** The program and its arguments before the words of a command. */
  readonly program: readonly [string, ...string[]];
  readonly logger: Logger;
  /** One line for the person who waits. */
  readonly say: (text: string) => void;
  /** Whether what is said goes to a person's terminal. */
  readonly personReads: boolean;
  readonly signal: AbortSignal;
}

const apiStartMs = 30_000;
/** A child that ends this often in a row while the cluster starts will not come up. */
const startFailuresMax = 4;
const installMs = 180_000;
/** The one child that a cluster can be without. */
const consoleName = 'console';

/** Runs a whole cluster until the signal aborts, then ends everything that it started. */
export async function runUp(options: UpOptions): Promise<void> {
  const layout = upLayout(options.dir);
  await requireStopped(layout);
  await requireOwnDirectory(layout);
  await mkdir(layout.dir, { recursive: true, mode: 0o700 });
  const claim = await claimFile(layout.claim);
  if (claim === undefined) {
    throw new SluiceError('Conflict', `a cluster is just being started from ${layout.dir}`, {
      next: `Wait for it: sluice up status --dir ${shellWord(layout.dir)}`,
    });
  }
  let network: Network | undefined;
  const broken = new AbortController();
  const supervisor = createSupervisor({
    program: options.program,
    clock: systemClock,
    logger: options.logger,
    onFailure: (spec, failures) => {
      if (failures >= startFailuresMax && spec.name !== consoleName) broken.abort(childFailure(spec));
    },
  });
  // Once it is ready, a child that fails is only started again; before, there is nothing to wait for.
  const starting = AbortSignal.any([options.signal, broken.signal]);
  try {
    const { state, client } = await start({ ...options, signal: starting }, layout, supervisor, (claimed) => {
      network = claimed;
    });
    await keepAuthFile({
      client,
      file: layout.authFile,
      registries: state.nodes.map((node) => node.registry),
      clock: systemClock,
      logger: options.logger,
      signal: options.signal,
    });
    await writeState(layout, { ...state, phase: 'ready' });
    const runs = await runningVersion(client);
    options.say(
      `ready: ${runs} on ${counted(state.nodes.length, 'node')}; export KUBECONFIG=${shellWord(state.kubeconfig)}`,
    );
    if (state.consoleUrl !== undefined) await sayConsole(options, layout, state.consoleUrl);
    await aborted(options.signal);
    options.say(`stopping: ${messageOf(options.signal.reason)}`);
    await client.close();
  } catch (error) {
    if (broken.signal.aborted) throw broken.signal.reason;
    if (!options.signal.aborted) throw error;
    options.say(`stopping: ${messageOf(options.signal.reason)}`);
  } finally {
    await supervisor.stop();
    await leaveNoContainers(layout);
    await network?.release();
    claim.release();
    if (options.signal.aborted) options.say('stopped');
  }
}

/** The last words of a child that does not come up. */
function childFailure(spec: ChildSpec): SluiceError {
  const said = readFileSync(spec.logFile, 'utf8').trim().split('\n');
  const last = said.findLast((line) => /error/i.test(line)) ?? said.at(-1) ?? '';
  return new SluiceError('CommandFailed', `${spec.name} ends again and again: ${last.slice(0, 500)}`, {
    next: `See all that it said: ${spec.logFile}`,
  });
}

async function start(
  options: UpOptions,
  layout: UpLayout,
  supervisor: Supervisor,
  onNetwork: (network: Network) => void,
): Promise<{ state: UpState; client: KubeClient }> {
  await requireFirstRelease(options.release, layout);
  const { apiInt, registryPort } = names('standalone');
  const before = await readState(layout);
  const network = await claimNetwork(registryPort, before?.network);
  onNetwork(network);
  const nodes = layout.nodes(options.nodes, network.number);
  const workload = await chooseWorkload(options, nodes);
  const building = buildConsole(options);
  const installed = await ensureInstalled(options, layout, nodes);
  const ports = {
    api: await freePort(before?.server),
    lock: await freePort(before?.lockUrl),
    console: await freePort(before?.consoleUrl),
  };
  const server = `https://127.0.0.1:${ports.api}`;
  const lockUrl = `http://127.0.0.1:${ports.lock}/`;
  await writeIdentities(layout, nodes, server, apiInt);
  await ensureLockSecret(layout.lockSecret);
  const lock = { url: lockUrl, secretFile: layout.lockSecret };
  for (const node of nodes) await configureNode(node, lock);

  const state: UpState = {
    pid: process.pid,
    startTicks: (await startTicksOf(process.pid)) ?? 0,
    phase: 'starting',
    startedAt: rfc3339(Date.now()),
    network: network.number,
    release: installed.version,
    server,
    kubeconfig: layout.kubeconfig,
    caFile: layout.caFile,
    authFile: layout.authFile,
    lockUrl,
    lockSecretFile: layout.lockSecret,
    ...((await building) ? { consoleUrl: `http://127.0.0.1:${ports.console}/` } : {}),
    workload: {
      runner: 'none' in workload ? 'none' : workload.runner,
      notIsolated: notIsolatedBy(workload),
    },
    nodes: nodes.map(({ name, address, dir }) => ({
      name,
      address,
      dir,
      registry: `${address}:${registryPort}`,
    })),
  };
  await writeState(layout, state);

  supervisor.start({
    name: 'apiserver',
    args: () => ['apiserver', '--dir', layout.api, '--listen', `127.0.0.1:${ports.api}`, '--pki', layout.pki],
    logFile: layout.logFile('apiserver'),
    endedLast: true,
  });
  const client = createKubeClient({
    ...loadKubeconfig(layout.kubeconfig),
    platform: 'standalone',
    userAgent: 'sluice-up',
  });
  await untilReady(client, layout.logFile('apiserver'), options.signal);
  options.say(`the API answers at ${server}`);
  await seedCluster(client, {
    trustedKeys: await keyFiles(layout),
    clusterId: randomUUID(),
    lockSlots: 1,
  });
  if (state.consoleUrl !== undefined) startConsole(layout, supervisor, `127.0.0.1:${ports.console}`);
  startNodes(options, layout, supervisor, nodes, { registryPort, workload: state.workload.runner });
  const controller = layout.identity('controller');
  supervisor.start({
    name: 'controller',
    args: () => [
      ...['controller', '--kubeconfig', controller.kubeconfig, '--release-image', installed.releaseImage],
      // One supervisor starts one controller at a time, so a restarted one need not wait for its own lease.
      ...['--identity', 'sluice-up'],
      ...['--lock-listen', `127.0.0.1:${ports.lock}`, '--trusted-keys', layout.trustedKeys],
      ...['--lock-secret-file', layout.lockSecret, '--lock-secret-for-all'],
      ...['--ca', layout.caFile, '--cert', controller.cert, '--key', controller.key],
    ],
    logFile: layout.logFile('controller'),
  });
  await untilInstalled(client, options);
  await finishFirstStart(layout);
  await untilAgentsAnswer(nodes, layout, systemClock, options.signal);
  return { state, client };
}

/** Builds the web console where it has to be. False where there is none: a cluster can be without it. */
async function buildConsole({ say, logger }: UpOptions): Promise<boolean> {
  try {
    const built = await ensureBuilt(say);
    if (built.state === 'missing') say(`there is no web console: it is not built. ${built.next}`);
    if (built.state === 'old') say(`the web console was built from older sources. ${built.next}`);
    return built.state !== 'missing';
  } catch (error) {
    logger.warn({ error: messageOf(error) }, 'the web console cannot be built');
    say(`there is no web console: ${messageOf(error)}`);
    return false;
  }
}

function startConsole(layout: UpLayout, supervisor: Supervisor, listen: string): void {
  supervisor.start({
    name: consoleName,
    args: () => [
      ...['console', '--kubeconfig', layout.kubeconfig, '--listen', listen],
      ...['--socket', layout.consoleSocket, '--session-key', layout.consoleKey],
      ...['--nodes', join(layout.dir, 'nodes')],
    ],
    logFile: layout.logFile(consoleName),
  });
}

function startNodes(
  options: UpOptions,
  layout: UpLayout,
  supervisor: Supervisor,
  nodes: readonly NodePlan[],
  how: { readonly registryPort: number; readonly workload: string },
): void {
  for (const node of nodes) {
    const identity = layout.identity(node.name);
    const tls = ['--tls-cert', identity.cert, '--tls-key', identity.key, '--client-ca', layout.caFile];
    supervisor.start({
      name: `registry-${node.name}`,
      args: () => [
        ...['registry', 'serve', '--store', node.store, '--trees', join(node.run, 'trees.json')],
        ...[
          '--listen',
          `${node.address}:${how.registryPort}`,
          ...tls,
          '--htpasswd',
          join(node.run, 'htpasswd'),
        ],
        ...['--peer-cert', identity.cert, '--peer-key', identity.key, '--peer-ca', layout.caFile],
        ...['--trusted-keys', join(node.run, keysFolder)],
      ],
      logFile: layout.logFile(`registry-${node.name}`),
    });
    let bootId = randomUUID();
    supervisor.start({
      name: node.name,
      args: () => [
        ...['node', 'run', '--name', node.name, '--dir', node.dir, '--address', node.address],
        ...[
          '--kubeconfig',
          identity.kubeconfig,
          '--ca',
          layout.caFile,
          '--cert',
          identity.cert,
          '--key',
          identity.key,
        ],
        ...['--trusted-keys', layout.trustedKeys, '--config-dir', node.config],
        ...['--workload', how.workload, '--containers', node.containers],
        ...['--os-driver', 'simulated', '--boot-id', bootId],
      ],
      logFile: layout.logFile(node.name),
      onReboot: () => {
        bootId = randomUUID();
      },
    });
  }
  options.say(`started ${nodes.map(({ name }) => name).join(', ')}`);
}

async function keyFiles(layout: UpLayout): Promise<Record<string, string>> {
  const keys = await loadTrustedKeys(layout.trustedKeys);
  return Object.fromEntries(keys.map((key) => [`${key.name}.pub`, key.publicPem]));
}

async function chooseWorkload(options: UpOptions, nodes: readonly NodePlan[]): Promise<RunnerProbe> {
  if (options.workload === 'none') {
    options.say(
      'nothing runs containers (--workload none): a release with a Deployment or a Job is never completed, checks of a release end as Errors',
    );
    return { none: 'not asked for' };
  }
  const probe = await probeRunner(
    nodes[0]?.containers ?? options.dir,
    options.workload === 'auto' ? undefined : options.workload,
  );
  if ('none' in probe) throw new SluiceError('CannotIsolate', `no container can run here: ${probe.none}`);
  const runner = probe.runner === 'podman' ? 'podman' : `sandbox (${probe.reason})`;
  options.say(`containers: ${runner}; not isolated: ${notIsolatedBy(probe).join(', ')}`);
  return probe;
}

async function writeIdentities(
  layout: UpLayout,
  nodes: readonly NodePlan[],
  server: string,
  apiInt: string,
): Promise<void> {
  const authority = await ensureAuthority(layout);
  const identities: Identity[] = [
    { kind: 'apiserver' },
    { kind: 'admin' },
    { kind: 'controller' },
    ...nodes.map(({ name, address }) => ({ kind: 'node', name, address }) as const),
  ];
  for (const identity of identities) {
    const pair = await ensureIdentity(layout, authority, identity, apiInt);
    const name = identityName(identity);
    const path = identity.kind === 'admin' ? layout.kubeconfig : layout.identity(name).kubeconfig;
    await writeKubeconfig(path, server, authority.certPem, pair, name);
  }
}

async function untilReady(client: KubeClient, log: string, signal: AbortSignal): Promise<void> {
  const end = Date.now() + apiStartMs;
  for (;;) {
    try {
      await client.raw({ path: '/readyz', timeoutMs: 2_000 });
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (Date.now() > end) {
        throw new SluiceError('Timeout', `the API did not start: ${messageOf(error)}`, {
          next: `See what it said: ${log}`,
        });
      }
      await systemClock.sleep(100, signal);
    }
  }
}

/** Waits until the installed release was Completed once; an update that goes on at a later start may take days. */
async function untilInstalled(client: KubeClient, options: UpOptions): Promise<void> {
  options.say('waiting for the release to be applied');
  let told = '';
  await waitFor(
    client,
    client.kinds.ClusterVersion,
    names('standalone').clusterVersion,
    (version) => {
      if (isInstalled(version)) return true;
      const words = waitsFor(version);
      if (words !== '' && words !== told) options.say(`  ${words}`);
      told = words;
      return false;
    },
    {
      timeoutMs: installMs,
      signal: options.signal,
      what: 'the release to be applied',
      describe: (version) => waitsFor(version as ClusterVersion | undefined) || 'nothing is told of it yet',
    },
  );
}

/** What an installation waits for, as the cluster tells it, without the time since when. */
export function waitsFor(version: ClusterVersion | undefined): string {
  const conditionOf = (type: string) => findCondition(version?.status?.conditions, type);
  const accepted = conditionOf('ReleaseAccepted');
  const told = accepted?.status === 'False' ? accepted : conditionOf('Progressing');
  return (told?.message ?? '').replace(/, since \d{4}-\d\d-\d\dT\d\d:\d\dZ/g, '').replace(/\s*\n\s*/g, ' ');
}

/** The link to log in is good for one who reads it: it goes to a person's terminal, not into a file. */
async function sayConsole(options: UpOptions, layout: UpLayout, url: string): Promise<void> {
  const ask = `sluice console link --dir ${shellWord(layout.dir)}`;
  const link = options.personReads
    ? await askForLink(layout.consoleSocket).catch(() => undefined)
    : undefined;
  options.say(
    link === undefined
      ? `console: ${url}; to log in: ${ask}`
      : `console: ${link.link} (good for one login; another: ${ask})`,
  );
}

/** The release that the cluster runs, or is on its way to. */
async function runningVersion(client: KubeClient): Promise<string> {
  const version = await client.tryGet(client.kinds.ClusterVersion, names('standalone').clusterVersion);
  return version?.status?.desired.version ?? 'unknown';
}

export function isInstalled(version: ClusterVersion | undefined): boolean {
  return version?.status?.history?.some(({ state }) => state === 'Completed') === true;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
