import type { Secret } from '../api/core.ts';
import { names } from '../api/names.ts';
import type { KubeClient } from '../kube/client.ts';
import { createInformer } from '../kube/informer.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { credentialsIn } from '../release/credentials.ts';

export interface PodsOptions {
  readonly client: KubeClient;
  readonly name: string;
  readonly address: string;
  readonly workload: 'podman' | 'sandbox' | 'none';
  readonly containersDir: string;
  readonly tls: { readonly ca: string; readonly cert: string; readonly key: string };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** What runs the Pods of a node. */
export interface Pods {
  /** Where their logs are served. */
  readonly port: number;
  readonly runtime: string;
  run(): Promise<void>;
  /** Ends every container of the node: it stops or reboots. */
  end(): Promise<void>;
}

/** Containers get this long to end when their node stops; a rehearsal's reboot need not take a minute. */
const endMs = 2_000;

/** Undefined where the node runs no Pods. Errors: CannotIsolate. */
export async function startPods(options: PodsOptions): Promise<Pods | undefined> {
  const { client, workload, tls, logger, clock, signal } = options;
  if (workload === 'none') return undefined;
  // A node whose Pods another kubelet runs does without this room.
  const { createKubelet } = await import('../workload/kubelet.ts');
  const { openRunner, probeRunner } = await import('../workload/probe.ts');
  const probe = await probeRunner(options.containersDir, workload);
  const runner = await openRunner(options.containersDir, probe);
  const { machineConfigNamespace, registrySecret, registryUser, registryPort } = names(client.platform);
  const secrets = createInformer(client, client.kinds.Secret, {
    namespace: machineConfigNamespace,
    fieldSelector: `metadata.name=${registrySecret}`,
    logger,
    clock,
    signal,
  });
  secrets.start();
  let password = '';
  const server = new URL(client.server);
  const kubelet = await createKubelet({
    client,
    nodeName: options.name,
    address: options.address,
    dir: `${options.containersDir}/kubelet`,
    runner,
    tls: { cert: tls.cert, key: tls.key },
    clientCa: tls.ca,
    apiServer: { host: server.hostname, port: Number(server.port) },
    registryPort,
    registryTrust: () => {
      const secret: Secret | undefined = secrets.get(registrySecret, machineConfigNamespace);
      // Where somebody deleted the Secret the registries go on to accept what it said last.
      password = (secret === undefined ? undefined : credentialsIn(secret).password) ?? password;
      return { caPem: tls.ca, ...(password === '' ? {} : { auth: { username: registryUser, password } }) };
    },
    logger,
    signal,
    clock,
  });
  return {
    port: kubelet.port,
    runtime: `${runner.name}://1`,
    run: () => kubelet.run(),
    async end() {
      await kubelet.end(endMs);
      await kubelet.close();
    },
  };
}
