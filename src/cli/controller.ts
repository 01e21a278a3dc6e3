import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Command } from 'commander';
import type { Platform } from '../api/kinds.ts';
import { SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import type { LockAccess } from '../lock/access.ts';
import { type ConnectOptions, connect, withConnection } from './connect.ts';
import { type LockAccessOptions, lockAccessOf, withLockAccess } from './lock-access.ts';
import { operationsOf, withOperationsOptions } from './operations.ts';

interface ControllerCommandOptions extends ConnectOptions, LockAccessOptions {
  readonly lockWithoutSecret?: boolean;
  readonly releaseImage?: string;
  readonly lockListen?: string;
  readonly trustedKeys?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly identity?: string;
  readonly statusListen?: string;
}

/** `sluice controller`. */
export function command(): Command {
  return withLockAccess(
    withOperationsOptions(
      withConnection(new Command().description('Run the controllers of releases, preflights and updates')),
    ),
  )
    .option('--release-image <ref>', 'the release that the cluster was installed with, by digest')
    .option('--lock-listen <address:port>', 'serve the FleetLock protocol there')
    .option(
      '--lock-without-secret',
      'let in who shows none, as zincati does (default, on Kubernetes: the Secret sluice-fleet-lock, made at the start)',
    )
    .option('--trusted-keys <dir>', 'trusted keys beside those of the ConfigMap sluice-trusted-keys')
    .option(
      '--ca <file>',
      "the authority of the nodes' registries (default, but in standalone: one that the controller makes)",
    )
    .option('--cert <file>', 'client certificate for the registries (default: the password of their Secret)')
    .option('--key <file>', 'its key')
    .option(
      '--identity <name>',
      'tells this process from others that may lead',
      `${hostname()}-${process.pid}`,
    )
    .addHelpText(
      'after',
      '\nExample:\n  sluice controller --kubeconfig admin.conf --ca /etc/sluice/ca.crt --lock-listen 127.0.0.1:3333',
    )
    .action(start);
}

async function start(options: ControllerCommandOptions): Promise<void> {
  const { runControllers } = await import('../controller/run.ts');
  const { createLogger } = await import('../observe/log.ts');
  const { endSoon, followParent, terminationSignal } = await import('../process/parent.ts');
  const { parseListen } = await import('../http/listen.ts');
  followParent();
  const operations = await operationsOf(options);
  const client = await connect(options);
  const read = () => registryOf(options, client.platform);
  const registry = await read();
  try {
    await runControllers({
      client,
      platform: client.platform,
      ...(registry === undefined ? {} : { registry, rereadRegistry: async () => (await read()) ?? registry }),
      ...(options.trustedKeys === undefined ? {} : { trustedKeysDirectory: options.trustedKeys }),
      ...(options.releaseImage === undefined ? {} : { initialRelease: options.releaseImage }),
      ...(options.lockListen === undefined
        ? {}
        : { lock: { ...parseListen(options.lockListen), access: await accessOf(options, client) } }),
      identity: options.identity ?? hostname(),
      ...operations,
      logger: createLogger('controller'),
      signal: terminationSignal(),
    });
  } finally {
    await client.close();
    endSoon();
  }
}

/** On Kubernetes every Pod reaches the lock, so there a secret is asked for unless somebody has said otherwise. */
async function accessOf(options: ControllerCommandOptions, client: KubeClient): Promise<LockAccess> {
  const access = await lockAccessOf(options);
  const { lockWithoutSecret: open = false } = options;
  if (open && access.secrets !== undefined) {
    throw new SluiceError(
      'Usage',
      '--lock-without-secret and --lock-secret-file say the opposite of each other',
    );
  }
  if (open || access.secrets !== undefined || client.platform !== 'kubernetes') return access;
  const { clusterSecrets } = await import('../lock/cluster-secret.ts');
  const { rememberSecrets } = await import('../lock/secret-memory.ts');
  const { systemClock } = await import('../observe/clock.ts');
  const secrets = rememberSecrets(() => clusterSecrets(client, systemClock.now()), systemClock);
  // Nodes are brought it before they ask. Where the API does not answer yet, the first question makes it.
  await secrets(false).catch(() => {});
  return { ...access, secrets };
}

/** Undefined where the controller is to make certificates itself. */
async function registryOf(options: ControllerCommandOptions, platform: Platform) {
  const { ca, cert, key } = options;
  const read = async (file: string | undefined) =>
    file === undefined ? undefined : await readFile(file, 'utf8');
  if (ca !== undefined) {
    return { caPem: await readFile(ca, 'utf8'), certPem: await read(cert), keyPem: await read(key) };
  }
  if (platform !== 'standalone') return undefined;
  throw new SluiceError('Usage', '--ca is missing: in standalone the registries have an authority already');
}
