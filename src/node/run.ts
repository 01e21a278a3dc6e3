import { readFile } from 'node:fs/promises';
import { cpus, hostname, release as kernelRelease, totalmem, type } from 'node:os';
import { join, resolve } from 'node:path';
import { labels, names } from '../api/names.ts';
import type { NodeUpdate } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import { createHttpClient, hostPort } from '../http/client.ts';
import { serveOperations } from '../http/operations.ts';
import type { KubeClient } from '../kube/client.ts';
import { createInformer } from '../kube/informer.ts';
import { systemClock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { createRegistryClient } from '../oci/client.ts';
import { readConfig } from '../oci/image.ts';
import { parseReference } from '../oci/reference.ts';
import { createNodeAgent } from './agent.ts';
import { followCertificates } from './certificates.ts';
import { keepContainerdHosts } from './containerd.ts';
import { createContentManager } from './content.ts';
import { noContentRoutes } from './content-routes.ts';
import { createReporter, createSkewMeter, desiredOf } from './finalization.ts';
import { readMachineId } from './machine-id.ts';
import type { NodeInfo } from './node-object.ts';
import { createOsDriver, type OsDriverName, rebootExitCode } from './os-driver.ts';
import { startPods } from './pods.ts';
import { anyHost, controlPlaneHosts, ownHost } from './pull-hosts.ts';
import { keepNode, registerNode } from './registration.ts';
import { keepCertificates } from './registry-hosts.ts';
import { nodeSocketPath, serveNodeSocket } from './socket.ts';

export interface NodeOptions {
  readonly client: KubeClient;
  readonly name: string;
  readonly dir: string;
  readonly address: string;
  /** A worker keeps no content: it stages and boots what it pulls from the control plane's registries. */
  readonly worker: boolean;
  readonly tlsFiles: { readonly ca: string; readonly cert: string; readonly key: string };
  readonly trustedKeysDir?: string;
  readonly configDirectories: readonly string[];
  readonly workload: 'podman' | 'sandbox' | 'none';
  readonly containersDir: string;
  /** Whether to play the kubelet towards the API: Node, lease, Ready. False where the host has one. */
  readonly registerNode: boolean;
  /** containerd's directory of registry hosts, kept equal to the mirror sets; absent: not touched. */
  readonly containerdHosts?: string;
  /** containers-certs.d(5): the certificates by which CRI-O and podman pull are kept there; absent: not touched. */
  readonly registryCertificates?: string;
  readonly osDriver: OsDriverName;
  readonly bootId?: string;
  readonly agentVersion: string;
  readonly metrics: Metrics;
  /** Where health and metrics are served; absent: metrics at the socket in the run directory alone. */
  readonly status?: { readonly address: string; readonly port: number };
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Runs one node until the signal aborts or it reboots. Resolves to the exit code of its process. */
export async function runNode(options: NodeOptions): Promise<number> {
  const { client, logger, name, address } = options;
  const { registryPort } = names(client.platform);
  const clock = systemClock;
  const tls = {
    ca: await readFile(options.tlsFiles.ca, 'utf8'),
    cert: await readFile(options.tlsFiles.cert, 'utf8'),
    key: await readFile(options.tlsFiles.key, 'utf8'),
  };
  const machineId = await readMachineId(options.dir);
  const bootId = options.bootId ?? (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();

  const reboot = new AbortController();
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, reboot.signal, failed.signal]);
  /** A part that fails ends the others: half a node would go on without being started again. */
  const untilFailure = async (part: Promise<void> | undefined) => {
    try {
      await part;
    } catch (error) {
      failed.abort();
      throw error;
    }
  };
  const dirs = {
    store: join(options.dir, 'store'),
    run: join(options.dir, 'run'),
    state: join(options.dir, 'state'),
  };
  const content = options.worker
    ? undefined
    : await createContentManager({
        client,
        nodeName: name,
        address,
        dirs,
        identity: { caPem: tls.ca, certPem: tls.cert, keyPem: tls.key },
        trustedKeysDir: options.trustedKeysDir,
        metrics: options.metrics,
        logger: logger.child({ part: 'content' }),
        clock,
        signal,
        watchRegistry: true,
      });
  const pods = await startPods({ ...options, tls, clock, logger: logger.child({ part: 'pods' }), signal });
  const registration = {
    client,
    nodeName: name,
    address,
    controlPlane: !options.worker,
    kubelet: options.registerNode
      ? {
          port: pods?.port,
          nodeInfo: nodeInfo(machineId, bootId, options, pods?.runtime),
          capacity: { cpu: String(cpus().length), memory: `${Math.floor(totalmem() / 1024)}Ki`, pods: '110' },
        }
      : undefined,
    logger,
    clock,
    signal,
  };
  await registerNode(registration);

  const updates = createInformer(client, client.kinds.NodeUpdate, {
    fieldSelector: `metadata.name=${name}`,
    logger,
    signal,
    clock,
  });
  const registryHttp = createHttpClient({ ca: tls.ca, cert: tls.cert, key: tls.key });
  followCertificates({
    files: options.tlsFiles,
    onRenewed(identity) {
      content?.renew(identity);
      registryHttp.renew({ ca: identity.caPem, cert: identity.certPem, key: identity.keyPem });
    },
    logger,
    signal,
  });
  const registryOf = (host: string) =>
    createRegistryClient({ baseUrl: `https://${host}`, http: registryHttp });
  const own = hostPort(address, registryPort);
  const hosts = options.worker
    ? anyHost(async () => {
        const { items } = await client.list(client.kinds.Node, { labelSelector: labels.controlPlane });
        return controlPlaneHosts(name, items, registryPort);
      }, registryOf)
    : ownHost(own);
  const driver = await createOsDriver(options.osDriver, {
    osDir: join(options.dir, 'os'),
    bootId,
    reboot: () => reboot.abort(),
    cluster: { hosts, tlsFiles: options.tlsFiles },
    // The image is asked for by digest from a registry of the cluster, as a real driver would pull it.
    pull: async (image) => {
      const { repository, digest } = parseReference(image);
      if (digest === undefined) throw new SluiceError('InputInvalid', `${image} is not named by digest`);
      const config = await readConfig(registryOf(await hosts.holding(image)), repository, digest);
      const version = config.labels['org.opencontainers.image.version'];
      return version === undefined ? {} : { version };
    },
  });
  const finalization = createNodeAgent({
    driver,
    stateDir: dirs.state,
    runDir: dirs.run,
    machineId,
    bootId,
    configDirectories: options.configDirectories,
    desired: () => desiredOf(updates.get(name) as NodeUpdate | undefined),
    report: createReporter(client, name, options.agentVersion, clock),
    skew: createSkewMeter(client.serverTime, clock),
    metrics: options.metrics,
    clock,
    logger: logger.child({ part: 'finalize' }),
    signal,
  });
  updates.onChange((change) => {
    // Its own reports change the object too; only what is asked of the node is news.
    const before = change.type === 'updated' ? change.previous.metadata.generation : undefined;
    if (before !== change.object.metadata.generation) finalization.agent.wake();
  });
  updates.start();
  const status =
    options.status === undefined
      ? undefined
      : await serveOperations(options.status, {
          metrics: options.metrics,
          ready: content === undefined ? {} : { registry: () => content.registryDown() },
        });
  const keepHosts = async () => {
    if (options.containerdHosts === undefined) return;
    const directory = options.containerdHosts;
    const { ca, cert, key } = options.tlsFiles;
    const files = { ca: resolve(ca), cert: resolve(cert), key: resolve(key) };
    await keepContainerdHosts({
      client,
      directory,
      registryPort,
      ownHost: options.worker ? undefined : own,
      files,
      clock,
      logger,
      signal,
    });
  };
  const keepRegistryCertificates = async () => {
    if (options.registryCertificates === undefined) return;
    await keepCertificates({
      client,
      directory: options.registryCertificates,
      registryPort,
      files: options.tlsFiles,
      clock,
      logger,
      signal,
    });
  };
  const socket = await serveNodeSocket(
    nodeSocketPath(dirs.run),
    { ...(content?.routes ?? noContentRoutes(name)), ...finalization.routes },
    logger,
  );
  try {
    await Promise.all(
      [
        content?.run(),
        finalization.run(),
        keepNode(registration),
        pods?.run(),
        keepHosts(),
        keepRegistryCertificates(),
      ].map(untilFailure),
    );
  } finally {
    await socket.close();
    await status?.close();
    await pods?.end();
    await Promise.all([registryHttp.close(), client.close()]);
  }
  return reboot.signal.aborted ? rebootExitCode : 0;
}

function nodeInfo(
  machineID: string,
  bootID: string,
  { agentVersion, osDriver }: NodeOptions,
  runtime = 'none',
): NodeInfo {
  const simulated = osDriver === 'simulated' ? ', simulated node' : '';
  return {
    machineID,
    systemUUID: machineID,
    bootID,
    kernelVersion: kernelRelease(),
    osImage: `${type()} (${hostname()}${simulated})`,
    containerRuntimeVersion: runtime,
    kubeletVersion: `v${agentVersion}-sluice`,
    kubeProxyVersion: '',
    operatingSystem: 'linux',
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
  };
}
