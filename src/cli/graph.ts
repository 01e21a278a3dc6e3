import { Command } from 'commander';
import { SluiceError } from '../errors/error.ts';
import { formatFlag, formatHelp, note, parseFormat, print, printObject, renderTable } from './output.ts';

interface GraphOptions {
  readonly from: readonly string[];
  readonly key?: readonly string[];
  readonly trustedKeys: string;
  readonly listen: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly channel?: string;
  readonly arch?: string;
  readonly output?: string;
}

/** `sluice graph serve|show`. */
export function command(): Command {
  const root = new Command().description('Which version may be reached from which, of the releases at hand');
  withSources(
    root
      .command('serve')
      .description('Answer the Cincinnati protocol, for oc and the cluster-version operator'),
  )
    .option('--listen <address:port>', 'where to listen', '127.0.0.1:8081')
    .option('--tls-cert <file>', 'certificate chain, PEM')
    .option('--tls-key <file>', 'its private key, PEM')
    .action(serveGraph);
  withSources(root.command('show').description('The versions and the ways between them'))
    .option('--channel <name>', 'only releases of this channel')
    .option('--arch <name>', 'only this architecture (amd64, x86_64, multi, …)')
    .option(formatFlag, formatHelp)
    .action(showGraph);
  root.addHelpText(
    'after',
    `
Only what a trusted key signed is shown. A release that names no channels is in all of them. Sources are read again
when a graph is asked for, at most every ten seconds.

Examples:
  sluice graph show --from /media/usb --key sluice.pub
  sluice graph serve --from /var/lib/sluice/store --listen 127.0.0.1:8081
  oc patch clusterversion version --type merge \\
    -p '{"spec":{"upstream":"http://127.0.0.1:8081/api/upgrades_info/v1/graph"}}'`,
  );
  return root;
}

function withSources(command: Command): Command {
  return command
    .requiredOption('--from <path...>', 'media, or the store of a node; repeatable')
    .option('--key <file...>', 'a public key that is trusted; repeatable')
    .option('--trusted-keys <dir>', 'public keys that are trusted, *.pub', '/etc/sluice/trusted-keys');
}

/** Milliseconds for which what was read of the sources is answered again. */
const freshMs = 10_000;

async function openReleases(options: GraphOptions) {
  const { loadTrustedKeys, parseTrustedKey } = await import('../trust/keys.ts');
  const { openMedia } = await import('../media/media.ts');
  const { readReleases } = await import('../graph/releases.ts');
  const { readFile } = await import('node:fs/promises');
  const { basename } = await import('node:path');
  const keys = async () => {
    if (options.key === undefined) return await loadTrustedKeys(options.trustedKeys);
    return await Promise.all(
      options.key.map(async (file) => parseTrustedKey(basename(file, '.pub'), await readFile(file, 'utf8'))),
    );
  };
  return async () => {
    const media = await Promise.all(options.from.map((path) => openMedia(path)));
    try {
      return await readReleases(
        media.map((each) => each.content),
        await keys(),
      );
    } finally {
      await Promise.all(media.map((each) => each.close()));
    }
  };
}

async function showGraph(options: GraphOptions): Promise<void> {
  const format = parseFormat(options.output);
  const { graphOf } = await import('../graph/graph.ts');
  const { releases, problems } = await (await openReleases(options))();
  for (const problem of problems) note(problem);
  const query = {
    ...(options.channel === undefined ? {} : { channel: options.channel }),
    ...(options.arch === undefined ? {} : { arch: options.arch }),
  };
  const graph = graphOf(releases, query);
  if (format === 'json' || format === 'yaml') return await printObject(graph, format);
  if (format === 'name') return print(graph.nodes.map((node) => node.version).join('\n'));
  if (graph.nodes.length === 0) return note('no signed release is there');
  const rows = graph.nodes.map((node, index) => {
    const to = graph.edges.filter(([from]) => from === index).map(([, at]) => graph.nodes[at]?.version ?? '');
    return [node.version, to.length === 0 ? '-' : to.join(', '), node.payload];
  });
  print(renderTable(['VERSION', 'MAY GO TO', 'PAYLOAD'], rows));
}

async function serveGraph(options: GraphOptions): Promise<void> {
  const { parseListen } = await import('../http/listen.ts');
  const { serve } = await import('../http/server.ts');
  const { createGraphHandler } = await import('../graph/server.ts');
  const { createLogger } = await import('../observe/log.ts');
  const { followParent, terminationSignal } = await import('../process/parent.ts');
  const { readFile } = await import('node:fs/promises');
  if ((options.tlsCert === undefined) !== (options.tlsKey === undefined)) {
    throw new SluiceError('Usage', '--tls-cert and --tls-key are given together');
  }
  followParent();
  const signal = terminationSignal();
  const logger = createLogger('graph');
  const read = await openReleases(options);
  let held: { at: number; reading: ReturnType<typeof read> } | undefined;
  const releases = async () => {
    if (held === undefined || Date.now() - held.at > freshMs) held = { at: Date.now(), reading: read() };
    const { reading } = held;
    try {
      const found = await reading;
      for (const problem of found.problems) logger.warn({ problem }, 'a bundle is left out');
      return found.releases;
    } catch (error) {
      held = undefined;
      throw error;
    }
  };
  const { address, port } = parseListen(options.listen);
  const server = await serve({
    address,
    port,
    handler: createGraphHandler({ releases, logger }),
    ...(options.tlsCert === undefined || options.tlsKey === undefined
      ? {}
      : {
          tls: { cert: await readFile(options.tlsCert, 'utf8'), key: await readFile(options.tlsKey, 'utf8') },
        }),
  });
  logger.info({ address: server.address, port: server.port }, 'the graph answers');
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await server.close();
}
