import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { SluiceError } from '../errors/error.ts';
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
 * `sluice up` means its nodes, not the host's own.
 * Errors: NotFound, with where it was looked for.
 */
export function findNodeSocket(
  options: NodeSocketOptions,
  environment: NodeJS.ProcessEnv = process.env,
): string {
  if (options.socket !== undefined) return options.socket;
  const { named, directories: looked } = findUpDirectories(options, environment);
  const own = ownSocket();
  if (options.node === undefined && !named && own !== undefined) return own;
  for (const directory of looked) {
    const found = nodesBelow(directory).filter(
      (each) => options.node === undefined || each.node === options.node,
    );
    if (found[0] !== undefined) return found[0].socket;
  }
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

function nodesBelow(directory: string): { node: string; socket: string }[] {
  const nodes = join(directory, 'nodes');
  if (!existsSync(nodes)) return [];
  return readdirSync(nodes)
    .sort()
    .map((node) => ({ node, socket: join(nodes, node, 'run', 'node.sock') }))
    .filter(({ socket }) => existsSync(socket));
}
