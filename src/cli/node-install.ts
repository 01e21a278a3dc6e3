import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, SluiceError, systemCode } from '../errors/error.ts';
import { operationsOf } from './operations.ts';

interface InstallOptions {
  readonly root: string;
  readonly once?: boolean;
  readonly remove?: boolean;
  readonly worker?: boolean;
  readonly besideOpenshift?: boolean;
  readonly statusListen?: string;
}

/** Tokens and certificates that the cluster renews are on the host this long after. */
const lookMs = 20_000;
/** Until an agent is up that was just started: a rollout waits for this Pod meanwhile. */
const soonMs = 3_000;
const account = '/var/run/secrets/kubernetes.io/serviceaccount';
const certificates = '/etc/sluice/registry';

/** `sluice node install`. */
export async function installHost(options: InstallOptions): Promise<void> {
  const { keepHost, programIdOf, removeHost, systemctlOf } = await import('../install/host.ts');
  const { createHostLook } = await import('../install/look.ts');
  const { serveOperations } = await import('../http/operations.ts');
  const { createLogger } = await import('../observe/log.ts');
  const { systemClock } = await import('../observe/clock.ts');
  const { terminationSignal } = await import('../process/parent.ts');
  const { isPackaged } = await import('../program/files.ts');
  const { root } = options;
  const systemctl = systemctlOf(root);
  if (options.remove === true) return await removeHost(root, systemctl);
  if (!isPackaged) {
    throw new SluiceError('Usage', 'only the single-file program can be put on a host', {
      next: 'Make it: npm run package. The container image has it.',
    });
  }
  const logger = createLogger('install');
  const signal = terminationSignal();
  const program = process.execPath;
  const programId = await programIdOf(program);
  const host = createHostLook({
    facts: () => readFacts(programId, options),
    keep: (facts) => keepHost(root, program, facts, systemctl),
    ...{ root, systemctl, logger },
  });
  if (options.once === true) return await host.look();
  const { metrics, status } = await operationsOf(options);
  const server =
    status === undefined
      ? undefined
      : await serveOperations(status, { metrics, ready: { host: host.problem } });
  while (!signal.aborted) {
    const waits = await host.look().then(
      () => host.problem() !== undefined,
      (error: unknown) => {
        logger.error({ error: messageOf(error) }, 'the host cannot be kept current');
        return false;
      },
    );
    await systemClock.sleep(waits ? soonMs : lookMs, signal);
  }
  await server?.close();
}

/** What the Pod was given; undefined while the certificates are not there. Errors: Usage. */
async function readFacts(programId: string, options: InstallOptions) {
  const { hostPort } = await import('../http/client.ts');
  const { env } = process;
  const need = (name: string) => {
    const value = env[name];
    if (value === undefined)
      throw new SluiceError('Usage', `${name} is not set: this runs as a Pod of the DaemonSet`);
    return value;
  };
  const read = (directory: string, name: string) => readFile(join(directory, name), 'utf8');
  const host = need('KUBERNETES_SERVICE_HOST');
  const server = `https://${hostPort(host, Number(need('KUBERNETES_SERVICE_PORT')))}`;
  const lockHost = env.SLUICE_LOCK_SERVICE_HOST;
  try {
    return {
      platform: options.besideOpenshift === true ? ('openshift' as const) : ('kubernetes' as const),
      worker: options.worker === true,
      nodeName: need('NODE_NAME'),
      address: need('NODE_ADDRESS'),
      programId,
      server,
      caPem: await read(account, 'ca.crt'),
      token: (await read(account, 'token')).trim(),
      registry: {
        caPem: await read(certificates, 'ca-bundle.crt'),
        certPem: await read(certificates, 'tls.crt'),
        keyPem: await read(certificates, 'tls.key'),
      },
      ...(lockHost === undefined
        ? {}
        : {
            lock: await lockOf(`http://${hostPort(lockHost, Number(env.SLUICE_LOCK_SERVICE_PORT ?? 3333))}/`),
          }),
    };
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** What the Pod was given of the Secret sluice-fleet-lock; nothing where the lock asks for none, or not yet. */
async function lockOf(url: string) {
  try {
    return { url, secret: (await readFile(join(certificates, 'lock-secret'), 'utf8')).trim() };
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { url };
    throw error;
  }
}
