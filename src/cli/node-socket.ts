import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isSluiceError, SluiceError } from '../errors/error.ts';
import { shellWord } from '../process/shell.ts';
import { findUpDirectories, type UpDirectoryOptions } from './up-directory.ts';

export interface NodeSocketOptions extends UpDirectoryOptions {
  readonly node?: string | undefined;
  readonly socket?: string | undefined;
}

/** The node of a host that runs one: by the units of deploy/systemd, or by those of the DaemonSet. */
const hostSockets = ['/run/sluice/node.sock', '/var/lib/sluice/run/node.sock'] as const;

/** The socket of this host's own node that is there; undefined where it runs none. */
export function ownSocket(exists: (path: string) => boolean = existsSync): string | undefined {
  return hostSockets.find((path) => exists(path));
}

/** Where a host's own node listens, for the words of those who ask it although it is not there. */
export const [usualSocket] = hostSockets;

/**
 * The socket of a node process on this machine: the one that is named; else the host's own; else, below the
 * directory of `sluice up` (given, or where the kubeconfig lies), the named or the first node. A kubeconfig of a
 * `sluice up` means its nodes, not the host's own. Of a node that does not listen it is where it will: `askUpNode`
 * says how that stands. Errors: NotFound, with where it was looked for.
 */
export function findNodeSocket(
  options: NodeSocketOptions,
  environment: NodeJS.ProcessEnv = process.env,
): string {
  if (options.socket !== undefined) return options.socket;
  const { named, directories: looked } = findUpDirectories(options, environment);
  const own = ownSocket();
  if (options.node === undefined && !named && own !== undefined) return own;
  const meant = looked
    .flatMap(nodesBelow)
    .filter((each) => options.node === undefined || each.node === options.node);
  const found = meant.find(({ socket }) => existsSync(socket)) ?? meant[0];
  if (found !== undefined) return found.socket;
  const which = options.node === undefined ? 'no node runs' : `no node ${options.node} runs`;
  throw new SluiceError('NotFound', `${which} on this machine (looked in ${looked.join(', ')})`, {
    next: 'Run this on the machine of the node, or say where: --dir DIR of sluice up, or --socket FILE.',
  });
}

/** The directory of the `sluice up` whose node has this socket; undefined for the node of a host. */
export function upDirectoryOf(socket: string): string | undefined {
  const directory = resolve(dirname(socket), '..', '..', '..');
  const isBelow = nodesBelow(directory).some((each) => each.socket === resolve(socket));
  return isBelow && existsSync(join(directory, 'state.json')) ? directory : undefined;
}

/**
 * Asks a node of this machine. Errors: those of `askNode`; of a node of `sluice up` that does not listen, whether it
 * is only starting.
 */
export async function askUpNode(
  socket: string,
  route: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const { askNode } = await import('../node/socket.ts');
  try {
    return await askNode(socket, route, body);
  } catch (error) {
    const directory = isSluiceError(error, 'Unreachable') ? upDirectoryOf(socket) : undefined;
    throw directory === undefined ? error : await notListening(socket, directory, error);
  }
}

async function notListening(socket: string, directory: string, cause: unknown): Promise<SluiceError> {
  const { upLayout } = await import('../up/layout.ts');
  const { runningState } = await import('../up/state.ts');
  const layout = upLayout(directory);
  const node = basename(resolve(dirname(socket), '..'));
  const dir = shellWord(directory);
  const running = await runningState(layout);
  if (running === undefined) {
    return new SluiceError('NotFound', `node ${node} does not run: no cluster runs from ${directory}`, {
      cause,
      next: `Start it: sluice up --dir ${dir}`,
    });
  }
  if (!running.nodes.some(({ name }) => name === node)) {
    const names = running.nodes.map(({ name }) => name).join(', ');
    return new SluiceError(
      'NotFound',
      `the cluster of ${directory} runs without ${node} (it has: ${names})`,
      {
        cause,
        next: 'Name one of its nodes: --node NAME.',
      },
    );
  }
  return new SluiceError('Unreachable', `node ${node} of ${directory} is starting: it does not listen yet`, {
    cause,
    next: `Run this again in a few seconds; what it does meanwhile: ${shellWord(layout.logFile(node))}`,
  });
}

function nodesBelow(directory: string): { node: string; socket: string }[] {
  const nodes = join(directory, 'nodes');
  if (!existsSync(nodes)) return [];
  return readdirSync(nodes)
    .sort()
    .map((node) => ({ node, socket: join(nodes, node, 'run', 'node.sock') }));
}
