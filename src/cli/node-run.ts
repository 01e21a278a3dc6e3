import { SluiceError } from '../errors/error.ts';
import type { OsDriverName } from '../node/os-driver.ts';
import { type ConnectOptions, connect } from './connect.ts';
import { operationsOf } from './operations.ts';

interface RunOptions extends ConnectOptions {
  readonly local?: boolean;
  readonly name?: string;
  readonly dir?: string;
  readonly runDir?: string;
  readonly address?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly trustedKeys?: string;
  readonly configDir: readonly string[];
  readonly workload: 'podman' | 'sandbox' | 'none';
  readonly containers?: string;
  readonly worker?: boolean;
  readonly registerNode?: boolean;
  readonly containerdHosts?: string;
  readonly registryCertificates?: string;
  readonly osDriver?: OsDriverName;
  readonly bootId?: string;
  readonly statusListen?: string;
}

/** `sluice node run`. */
export async function runAgent(options: RunOptions): Promise<void> {
  if (options.local === true) return await runAlone(options);
  const { runNode } = await import('../node/run.ts');
  const { createLogger } = await import('../observe/log.ts');
  const { endSoon, followParent, terminationSignal } = await import('../process/parent.ts');
  const { programVersion } = await import('../program/build.ts');
  const operations = await operationsOf(options);
  const [name, dir, address] = [need(options, 'name'), need(options, 'dir'), need(options, 'address')];
  const tlsFiles = { ca: need(options, 'ca'), cert: need(options, 'cert'), key: need(options, 'key') };
  followParent();
  const client = await connect(options);
  try {
    process.exitCode = await runNode({
      client,
      name,
      dir,
      address,
      worker: options.worker === true,
      tlsFiles,
      ...(options.trustedKeys === undefined ? {} : { trustedKeysDir: options.trustedKeys }),
      configDirectories: options.configDir,
      workload: options.workload,
      // A cluster elsewhere has kubelets, which own their nodes; a node that runs Pods for us has none.
      registerNode: options.registerNode ?? (client.platform === 'standalone' || options.workload !== 'none'),
      ...(options.containerdHosts === undefined ? {} : { containerdHosts: options.containerdHosts }),
      ...(options.registryCertificates === undefined
        ? {}
        : { registryCertificates: options.registryCertificates }),
      containersDir: options.containers ?? `${dir}/containers`,
      osDriver: options.osDriver ?? 'simulated',
      ...(options.bootId === undefined ? {} : { bootId: options.bootId }),
      agentVersion: programVersion(),
      ...operations,
      logger: createLogger('node').child({ node: name }),
      signal: terminationSignal(),
    });
  } finally {
    endSoon();
  }
}

function need(options: RunOptions, name: 'name' | 'dir' | 'address' | 'ca' | 'cert' | 'key'): string {
  const value = options[name];
  if (value === undefined) {
    throw new SluiceError('Usage', `--${name} is missing`, {
      next: 'A node of a cluster needs --name, --dir, --address, --ca, --cert and --key; a host alone needs --local.',
    });
  }
  return value;
}

async function runAlone(options: RunOptions): Promise<void> {
  const { runLocalNode } = await import('../node/local.ts');
  const { createLogger } = await import('../observe/log.ts');
  const { terminationSignal } = await import('../process/parent.ts');
  process.exitCode = await runLocalNode({
    dir: options.dir ?? '/var/lib/sluice',
    run: options.runDir ?? '/run/sluice',
    configDirectories: options.configDir,
    osDriver: options.osDriver ?? 'auto',
    ...(options.bootId === undefined ? {} : { bootId: options.bootId }),
    ...(await operationsOf(options)),
    logger: createLogger('node'),
    signal: terminationSignal(),
  });
}
