import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import type { ConsoleReady } from '../console/run.ts';
import { SluiceError } from '../errors/error.ts';
import { shellWord } from '../process/shell.ts';
import { type ConnectOptions, findCluster, withConnection } from './connect.ts';
import { formatFlag, formatHelp, note, parseFormat, print, printObject } from './output.ts';
import {
  clusterPlaces,
  findUpDirectories,
  nextWithoutDirectory,
  upDirectoryDefault,
} from './up-directory.ts';

interface ConsoleCommandOptions extends ConnectOptions {
  readonly listen: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly prefix: string;
  readonly publicUrl?: string;
  readonly behindProxy?: boolean;
  readonly link: boolean;
  readonly socket?: string;
  readonly sessionKey?: string;
  readonly nodes?: string;
  readonly registryCa?: string;
  readonly files?: string;
}

interface LinkOptions {
  readonly socket?: string;
  readonly dir?: string;
  readonly kubeconfig?: string;
  readonly output?: string;
}

const socketName = 'console.sock';

/** `sluice console`, `console link`. */
export function command(): Command {
  const root = withConnection(new Command().description('Serve the web console; print a link to log in with'))
    .option('--listen <address:port>', 'where to listen; port 0 takes a free one', '127.0.0.1:0')
    .option('--tls-cert <file>', 'certificate chain, PEM')
    .option('--tls-key <file>', 'its private key, PEM')
    .option('--prefix <path>', 'the path that it is reached under, behind a proxy', '/')
    .option('--public-url <url>', 'how people reach it, for links (default: the address that it listens at)')
    .option('--behind-proxy', 'listen without TLS on other addresses than loopback: a proxy has the TLS')
    .option('--no-link', 'give no one-time links: people log in with tokens of their own')
    .option('--socket <file>', 'where console link asks for a new link')
    .option('--session-key <file>', 'keep the key of sessions there, so that they outlive a restart')
    .option('--nodes <dir>', "the directory of this machine's nodes, to attach media from the console")
    .option('--registry-ca <file>', "the authority of the nodes' registries (default: that of the cluster)")
    .option('--files <dir>', 'the built console (default: the one that came with the program)')
    .action(start);
  root
    .command('link')
    .description('Print a new link to a console that runs on this machine; it is good for one login')
    .option('--socket <file>', "the console's socket")
    .option(
      '--dir <dir>',
      `the directory of sluice up (default: that of the kubeconfig, ${upDirectoryDefault})`,
    )
    .option('--kubeconfig <file>', 'finds the directory of sluice up')
    .option(formatFlag, formatHelp)
    .action((_: object, self: Command) => link(self.optsWithGlobals() as LinkOptions));
  root.addHelpText(
    'after',
    `
Whoever opens the link has the rights of the kubeconfig, once: keep it to yourself. With a token, people have the
rights of the token; what they may not do is greyed, and says which right is missing. See docs/console.md.

Examples:
  sluice console                                     On loopback, a free port; prints the link
  sluice console link --dir ./rehearsal              A new link to the console of sluice up
  sluice console link --dir ./rehearsal -o json      Its address and the link, for a script
  sluice console --listen 0.0.0.0:8443 --tls-cert tls.crt --tls-key tls.key --no-link
  sluice console --listen 127.0.0.1:8080 --prefix /sluice --public-url https://apps.example.com`,
  );
  return root;
}

async function start(options: ConsoleCommandOptions): Promise<void> {
  const { runConsole } = await import('../console/run.ts');
  const { parseListen } = await import('../http/listen.ts');
  const { createLogger } = await import('../observe/log.ts');
  const { endSoon, followParent, terminationSignal } = await import('../process/parent.ts');
  const { programVersion } = await import('../program/build.ts');
  if ((options.tlsCert === undefined) !== (options.tlsKey === undefined)) {
    throw new SluiceError('Usage', '--tls-cert and --tls-key are given together');
  }
  const listen = parseListen(options.listen);
  const isLoopback = listen.address === '::1' || listen.address.startsWith('127.');
  if (options.tlsCert === undefined && !isLoopback && options.behindProxy !== true) {
    throw new SluiceError('Usage', `tokens would pass in the clear to ${options.listen}`, {
      next: 'Give --tls-cert and --tls-key, or say that a proxy has the TLS: --behind-proxy.',
    });
  }
  followParent();
  const identity = await findCluster(options);
  const tls =
    options.tlsCert === undefined || options.tlsKey === undefined
      ? {}
      : {
          tls: { cert: await readFile(options.tlsCert, 'utf8'), key: await readFile(options.tlsKey, 'utf8') },
        };
  const logger = createLogger('console');
  try {
    await runConsole({
      identity,
      listen,
      ...tls,
      prefix: prefixOf(options.prefix),
      links: options.link,
      version: programVersion(),
      logger,
      signal: terminationSignal(),
      ...(options.files === undefined ? {} : { filesDirectory: resolve(options.files) }),
      ...(options.publicUrl === undefined ? {} : { publicUrl: publicOf(options.publicUrl) }),
      ...(options.socket === undefined ? {} : linksAt(resolve(options.socket))),
      ...(options.sessionKey === undefined ? {} : { sessionKeyFile: resolve(options.sessionKey) }),
      ...(options.nodes === undefined ? {} : { nodesDirectory: resolve(options.nodes) }),
      ...(options.registryCa === undefined ? {} : { registryCa: await readFile(options.registryCa, 'utf8') }),
      onReady: (ready) => {
        // Nobody reads the link of a child, and it must not lie in a log.
        const isChild = process.env.SLUICE_FOLLOW_PARENT === '1';
        if (process.stderr.isTTY) note(readyWords(ready));
        else logger.info({ url: ready.url }, 'the console answers');
        if (ready.link !== undefined && !isChild) print(ready.link);
      },
    });
  } finally {
    endSoon();
  }
}

/** What a person is told above the link, which stands alone on standard output. */
function readyWords({ url, link: first }: ConsoleReady): string {
  const login = first === undefined ? 'people log in with tokens of their own' : 'this link logs in, once:';
  return `the console answers at ${url} until Ctrl-C; ${login}`;
}

/** Where links are asked for, and how: whoever reads the command may stand in any directory of this machine. */
function linksAt(socket: string): { readonly socket: string; readonly linkCommand: string } {
  const called = process.env.SLUICE_PROGRAM || 'sluice';
  const program = called.includes('/') ? resolve(called) : called;
  const words = [program, 'console', 'link', '--socket', socket];
  return { socket, linkCommand: words.map(shellWord).join(' ') };
}

/** `/`, or the path with a slash at both ends. Errors: Usage. */
export function prefixOf(text: string): string {
  const inner = text.replace(/^\/+|\/+$/g, '');
  if (inner === '') return '/';
  if (!/^[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*$/.test(inner) || inner.includes('..')) {
    throw new SluiceError('Usage', `--prefix ${text} is no path, such as /sluice`);
  }
  return `/${inner}/`;
}

function publicOf(text: string): string {
  try {
    const url = new URL(text);
    if (url.protocol === 'https:' || url.protocol === 'http:') return url.origin;
  } catch {
    // Told below.
  }
  throw new SluiceError('Usage', `--public-url ${text} is no address, such as https://apps.example.com`);
}

async function link(options: LinkOptions): Promise<void> {
  const format = parseFormat(options.output);
  const { existsSync } = await import('node:fs');
  const { askForLink } = await import('../console/link.ts');
  const { named, directories: looked } = findUpDirectories(options, process.env);
  const directories = looked.map((each) => join(each, socketName));
  const socket = options.socket ?? directories.find((each) => existsSync(each));
  if (socket === undefined) {
    throw new SluiceError('NotFound', `no console runs here (looked for ${directories.join(', ')})`, {
      next: nextWithoutDirectory(
        named,
        clusterPlaces(),
        'Say where: --dir DIR of sluice up, or --socket FILE; or start one: sluice console.',
      ),
    });
  }
  const made = await askForLink(socket);
  if (format === 'json' || format === 'yaml') await printObject(made, format);
  else print(made.link);
}
