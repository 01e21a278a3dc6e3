import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Command } from 'commander';
import { shellWord } from '../process/shell.ts';
import { operationsOf } from './operations.ts';
import { note } from './output.ts';

interface ApiServerCommandOptions {
  readonly dir: string;
  readonly listen: string;
  readonly pki?: string;
  readonly controllers: boolean;
  readonly crds: boolean;
}

/** `sluice apiserver`. */
export function command(): Command {
  return new Command()
    .description('Run the embedded Kubernetes API, with the controllers of Jobs, Deployments and nodes')
    .requiredOption('--dir <directory>', 'where the database and the key of tokens are kept')
    .option('--listen <address:port>', 'where to listen; port 0 takes a free one', '127.0.0.1:6443')
    .option('--pki <directory>', 'ca.crt, apiserver.crt and apiserver.key; made where they are missing')
    .option('--no-controllers', 'serve the API alone: nothing acts on Jobs, Deployments and namespaces')
    .option('--no-crds', "do not install Sluice's own kinds")
    .addHelpText(
      'after',
      `
A small Kubernetes API on one file, for evaluation, rehearsals and tests: kubectl works against it. What it serves
and where it differs from the real one is listed in docs/embedded-api.md.

Examples:
  sluice apiserver --dir /var/lib/sluice/api
  kubectl --kubeconfig /var/lib/sluice/api/pki/admin.kubeconfig get nodes
  sluice apiserver --dir /var/lib/sluice/api backup /var/backups/cluster.db`,
    )
    .addCommand(backupCommand())
    .action(run);
}

function backupCommand(): Command {
  return new Command('backup')
    .description('Copy the database as it stands now, whether the server runs or not')
    .argument('<file>', 'where the copy is written; it must not exist')
    .addHelpText(
      'after',
      `
The copy holds every write that was acknowledged before. To go back to it, end the server and put the file in the place
of cluster.db, without the files cluster.db-wal and cluster.db-shm that may lie beside it. The keys of the authority
and of the tokens are files of their own in --dir, which do not change: keep them too.

Example:
  sluice apiserver --dir /var/lib/sluice/api backup /var/backups/cluster.db`,
    )
    .action(async (file: string, _options: object, command: Command) => {
      const { backUpDatabase } = await import('../apiserver/store/backup.ts');
      const { dir } = command.optsWithGlobals<ApiServerCommandOptions>();
      const { bytes } = await backUpDatabase(join(dir, 'cluster.db'), file);
      note(`${file}: ${bytes} bytes`);
    });
}

async function run(options: ApiServerCommandOptions): Promise<void> {
  const { followParent, terminationSignal } = await import('../process/parent.ts');
  const { createLogger } = await import('../observe/log.ts');
  const { parseListen } = await import('../http/listen.ts');
  const { startApiServer } = await import('../apiserver/server.ts');
  const { ensureServerPki, ensureServiceAccountKey, writeAdminKubeconfig } = await import(
    '../apiserver/pki.ts'
  );
  const { renderCrds } = await import('../api/crds.ts');
  followParent();
  const { metrics } = await operationsOf({});
  const signal = terminationSignal();
  const { address, port } = parseListen(options.listen);
  const pki = options.pki ?? join(options.dir, 'pki');
  const { caPem, server } = await ensureServerPki(pki, address);
  const pair = { cert: server.certPem, key: server.keyPem };
  const logger = createLogger('apiserver');
  const loopbackToken = randomUUID() + randomUUID();
  const running = await startApiServer({
    dataDir: options.dir,
    metrics,
    address,
    port,
    tls: pair,
    clientCaPem: caPem,
    serviceAccountKeyPem: await ensureServiceAccountKey(options.dir),
    kubeletClient: { ...pair, ca: caPem },
    loopbackToken,
    crds: options.crds ? renderCrds('standalone') : [],
    logger,
  });
  try {
    note(`the API answers at ${running.url}`);
    const kubeconfig = options.pki === undefined ? await writeAdminKubeconfig(pki, running.url) : undefined;
    if (kubeconfig !== undefined) note(`export KUBECONFIG=${shellWord(kubeconfig)}`);
    const controllers = options.controllers
      ? runControllers(running.url, caPem, loopbackToken, logger.child({ component: 'cluster' }), signal)
      : Promise.resolve();
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await controllers;
  } finally {
    await running.close();
  }
}

/** The controllers speak to the API as everyone else does, as the server's own identity. */
async function runControllers(
  url: string,
  caPem: string,
  token: string,
  logger: import('../observe/log.ts').Logger,
  signal: AbortSignal,
): Promise<void> {
  const { createKubeClient } = await import('../kube/client.ts');
  const { runClusterControllers } = await import('../cluster/controllers.ts');
  const client = createKubeClient({
    server: url,
    tls: { ca: caPem },
    token,
    platform: 'standalone',
    userAgent: 'sluice-cluster',
  });
  try {
    await runClusterControllers({ client, logger, signal, caPem });
  } finally {
    await client.close();
  }
}
