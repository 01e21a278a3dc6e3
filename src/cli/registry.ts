import { Command } from 'commander';
import { SluiceError } from '../errors/error.ts';
import { operationsOf, withOperationsOptions } from './operations.ts';

interface ServeCommandOptions {
  readonly store: string;
  readonly trees?: string;
  readonly listen: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly clientCa?: string;
  readonly htpasswd?: string;
  readonly peerCert?: string;
  readonly peerKey?: string;
  readonly peerCa?: string;
  readonly peerServername: string;
  readonly trustedKeys: string;
  readonly reusePort?: true;
  readonly drain: string;
  readonly writable?: true;
  readonly statusListen?: string;
}

/** `sluice registry serve`. */
export function command(): Command {
  const root = new Command().description("Serve a node's store and its verified media");
  withOperationsOptions(
    root
      .command('serve')
      .description(
        'Serve images to kubelets, other nodes and people: distribution-spec 1.1, read-only unless --writable',
      ),
  )
    .requiredOption('--store <dir>', 'the store, which holds docker/registry/v2')
    .option('--trees <file>', 'what to answer from, in order: store, media, peers (the node agent writes it)')
    .option('--listen <address:port>', 'where to listen', '127.0.0.1:22625')
    .option('--tls-cert <file>', 'certificate chain, PEM')
    .option('--tls-key <file>', 'its private key, PEM')
    .option('--client-ca <file>', 'authorities whose client certificates may read, PEM')
    .option('--htpasswd <file>', 'users who may read, bcrypt')
    .option('--peer-cert <file>', "client certificate for other nodes' registries")
    .option('--peer-key <file>', 'its private key')
    .option('--peer-ca <file>', 'authorities that signed their certificates')
    .option('--peer-servername <name>', 'the name in their certificates', 'api-int.sluice.internal')
    .option('--trusted-keys <dir>', 'public keys of bundles, *.pub', '/etc/sluice/trusted-keys')
    .option(
      '--reuse-port',
      'listen beside another one: a new program takes over while the old one ends its pulls',
    )
    .option('--drain <duration>', 'how long transfers may go on when it is told to stop', '10s')
    .option(
      '--writable',
      'take pushes and deletions into the store (a registry of its own, never one of a node)',
    )
    .action(serveCommand);
  root.addHelpText(
    'after',
    `
Without --htpasswd and --client-ca everybody may read; that, and plain HTTP, is offered on loopback only.
Every file is read again when it changes.

Examples:
  sluice registry serve --store /var/lib/sluice/store
  sluice registry serve --store ./registry --listen 127.0.0.1:5000 --writable
  sluice registry serve --store /var/lib/sluice/store --listen [::]:22625 \\
    --tls-cert tls.crt --tls-key tls.key --client-ca ca.crt --htpasswd htpasswd`,
  );
  return root;
}

async function serveCommand(options: ServeCommandOptions): Promise<void> {
  const { parseDuration } = await import('../gates/duration.ts');
  const { createNotifier } = await import('../finalize/notify.ts');
  const { parseListen } = await import('../http/listen.ts');
  const { followParent, terminationSignal } = await import('../process/parent.ts');
  if (options.writable === true && options.trees !== undefined) {
    throw new SluiceError('Usage', '--writable serves its store alone: leave --trees out');
  }
  const drainMs = parseDuration(options.drain);
  followParent();
  const signal = terminationSignal();
  const { address, port } = parseListen(options.listen);
  const tls = tlsOf(options);
  const isLoopback = address === '::1' || address.startsWith('127.');
  if (
    !isLoopback &&
    (tls === undefined || (options.htpasswd === undefined && options.clientCa === undefined))
  ) {
    throw new SluiceError(
      'Usage',
      `${options.listen} can be reached from outside, without TLS or without a check of who reads`,
      {
        next: 'Give --tls-cert and --tls-key, and --htpasswd or --client-ca; or listen on 127.0.0.1.',
      },
    );
  }
  const [{ serveRegistry }, { createLogger }, { serveOperations }] = await Promise.all([
    import('../registry/server.ts'),
    import('../observe/log.ts'),
    import('../http/operations.ts'),
  ]);
  const logger = createLogger('registry');
  const { metrics, status } = await operationsOf(options);
  const server = await serveRegistry({
    storePath: options.store,
    address,
    port,
    ...(options.trees === undefined ? {} : { treesFile: options.trees }),
    ...(tls === undefined ? {} : { tls }),
    ...(options.htpasswd === undefined ? {} : { htpasswdFile: options.htpasswd }),
    peer: {
      servername: options.peerServername,
      ...(options.peerCert === undefined ? {} : { certFile: options.peerCert }),
      ...(options.peerKey === undefined ? {} : { keyFile: options.peerKey }),
      ...(options.peerCa === undefined ? {} : { caFile: options.peerCa }),
    },
    trustedKeys: options.trustedKeys,
    reusePort: options.reusePort === true,
    writable: options.writable === true,
    metrics,
    logger,
  });
  const operations =
    status === undefined
      ? undefined
      : await serveOperations(
          { ...status, reusePort: options.reusePort === true },
          { metrics, ready: { trees: server.problem } },
        );
  logger.info({ address: server.address, port: server.port }, 'the registry answers');
  await createNotifier(logger).ready();
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  // First, so that whoever asks at the shared address is told of the one that takes over.
  await operations?.close();
  await server.close(drainMs);
}

function tlsOf(options: ServeCommandOptions) {
  const { tlsCert, tlsKey, clientCa } = options;
  if (tlsCert === undefined && tlsKey === undefined) {
    if (clientCa === undefined) return undefined;
    throw new SluiceError('Usage', '--client-ca needs --tls-cert and --tls-key');
  }
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new SluiceError('Usage', '--tls-cert and --tls-key are given together');
  }
  return {
    certFile: tlsCert,
    keyFile: tlsKey,
    ...(clientCa === undefined ? {} : { clientCaFile: clientCa }),
  };
}
