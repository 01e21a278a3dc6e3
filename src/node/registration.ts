import { messageOf, SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { isNotFound } from '../kube/error.ts';
import { createOnce } from '../kube/once.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { ensureNode, isShown, type KubeletFacts, renewLease, writeStatus } from './node-object.ts';

export interface RegistrationOptions {
  readonly client: KubeClient;
  readonly nodeName: string;
  /** InternalIP: where the registry and the kubelet listen. */
  readonly address: string;
  /** Whether it is of the control plane, and so keeps content. */
  readonly controlPlane: boolean;
  /** What to say in a kubelet's place; absent where the node has a kubelet, whose Node is then not touched. */
  readonly kubelet?: KubeletFacts | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const renewMs = 10_000;
/** The Node's status is written anew at least this often, as the kubelet does. */
const statusMs = 5 * 60_000;
const retryMs = 1_000;

/** MachineConfigNode needs a configuration's name; Sluice renders none. */
const noConfiguration = 'not-rendered';

/**
 * Makes the node's objects: NodeUpdate and MachineConfigNode, and where no kubelet does it the Node and its lease.
 * Tries until the API takes them; resolves when they stand, or when `signal` aborts.
 */
export async function registerNode(options: RegistrationOptions): Promise<void> {
  const { logger, clock, signal, nodeName } = options;
  while (!signal.aborted) {
    try {
      await ensureObjects(options);
      const played = playedKubelet(options);
      if (played !== undefined) {
        await writeStatus(played);
        await renewLease(played);
      }
      logger.info({ node: nodeName }, 'node registered');
      return;
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ node: nodeName, error: messageOf(error) }, 'node cannot register yet');
      await clock.sleep(retryMs, signal);
    }
  }
}

/**
 * Keeps the node's objects until `signal` aborts: those that somebody deleted are made again, and where no kubelet
 * does it the lease, the Ready condition and the boot id say that the node lives. Never rejects.
 */
export async function keepNode(options: RegistrationOptions): Promise<void> {
  const { logger, clock, signal } = options;
  const played = playedKubelet(options);
  let statusAt = clock.now();
  while (!signal.aborted) {
    await clock.sleep(renewMs, signal);
    if (signal.aborted) return;
    try {
      if (played !== undefined) await renewLease(played);
      await ensureObjects(options);
      if (played === undefined) continue;
      // Others write the condition too: a node that was silent for a while is marked Unknown until it says more.
      if ((await isShown(played)) && clock.now() - statusAt < statusMs) continue;
      await writeStatus(played);
      statusAt = clock.now();
    } catch (error) {
      if (isNotFound(error)) await registerNode(options);
      else if (!signal.aborted) logger.warn({ error: messageOf(error) }, 'node not kept up');
    }
  }
}

function playedKubelet({ kubelet, ...rest }: RegistrationOptions) {
  return kubelet === undefined ? undefined : { ...rest, kubelet };
}

async function ensureObjects(options: RegistrationOptions): Promise<void> {
  const { client, nodeName } = options;
  const { kinds } = client;
  const played = playedKubelet(options);
  if (played !== undefined) await ensureNode(played);
  else if ((await client.tryGet(kinds.Node, nodeName)) === undefined) {
    throw new SluiceError('NotFound', `no node ${nodeName} is known to the API`, {
      next: 'The kubelet of this host registers it: look whether it runs, and whether its node has this name.',
    });
  }
  if ((await client.tryGet(kinds.NodeUpdate, nodeName)) === undefined) {
    await createOnce(client, kinds.NodeUpdate, { metadata: { name: nodeName }, spec: {} });
  }
  // What it says of releases is of those who keep them.
  if (!options.controlPlane) return;
  if ((await client.tryGet(kinds.MachineConfigNode, nodeName)) === undefined) {
    await createOnce(client, kinds.MachineConfigNode, {
      metadata: { name: nodeName },
      spec: {
        node: { name: nodeName },
        pool: { name: 'master' },
        configVersion: { desired: noConfiguration },
      },
    });
  }
}
