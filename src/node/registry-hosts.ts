import { labels } from '../api/names.ts';
import { messageOf } from '../errors/error.ts';
import { hostPort } from '../http/client.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { createApiInt } from '../release/api-int.ts';
import { controlPlaneHosts } from './pull-hosts.ts';
import { type RegistryCertificates, writeCertificates } from './registry-certificates.ts';

/** Nodes come seldom, and certificates are renewed weeks before they end. */
const lookMs = 60_000;
const retryMs = 5_000;

/**
 * Keeps the certificates for every registry of the control plane where CRI-O and podman look for them
 * (containers-certs.d(5)), by the nodes' addresses and by the name that all share, until the signal aborts. They are
 * read at each pull. Directories of registries that are gone stay: they open nothing. Never rejects.
 */
export async function keepCertificates(options: {
  readonly client: KubeClient;
  readonly directory: string;
  readonly registryPort: number;
  readonly files: RegistryCertificates['files'];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { client, directory, registryPort, files, clock, logger, signal } = options;
  const apiInt = createApiInt(client);
  const hosts = async () => {
    const { items } = await client.list(client.kinds.Node, { labelSelector: labels.controlPlane });
    const shared = await apiInt.host();
    return [
      ...controlPlaneHosts('', items, registryPort),
      ...(shared === undefined ? [] : [hostPort(shared, registryPort)]),
    ];
  };
  while (!signal.aborted) {
    let waitMs = lookMs;
    try {
      await writeCertificates({ directory, hosts, files });
    } catch (error) {
      if (signal.aborted) return;
      waitMs = retryMs;
      logger.warn({ directory, error: messageOf(error) }, 'certificates of the registries not written');
    }
    await clock.sleep(waitMs, signal);
  }
}
