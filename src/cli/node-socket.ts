import { existsSync, readdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { SluiceError } from '../errors/error.ts';

export interface NodeSocketOptions {
  readonly node?: string | undefined;
  /** Directory of `sluice up`. */
  readonly dir?: string | undefined;
  readonly socket?: string | undefined;
  readonly kubeconfig?: string | undefined;
}

/** The node of a host that runs one. */
const hostSocket = '/run/sluice/node.sock';
const upDirectory = '/var/lib/sluice/up';

/**
 * The socket of a node process on this machine: the one that is named; else the host's own; else, below the
 * directory of `sluice up` (given, or where the kubeconfig lies), the named or the first node.
 * Errors: NotFound, with where it was looked for.
 */
export function findNodeSocket(
  options: NodeSocketOptions,
  environment: NodeJS.ProcessEnv = process.env,
): string {
  if (options.socket !== undefined) return options.socket;
  if (options.node === undefined && options.dir === undefined && existsSync(hostSocket)) return hostSocket;
  const looked = directories(options, environment);
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

function directories(options: NodeSocketOptions, environment: NodeJS.ProcessEnv): string[] {
  if (options.dir !== undefined) return [options.dir];
  const kubeconfigs = [options.kubeconfig, ...(environment.KUBECONFIG ?? '').split(delimiter)];
  return [
    ...kubeconfigs.flatMap((path) => (path === undefined || path === '' ? [] : [dirname(path)])),
    upDirectory,
  ];
}

function nodesBelow(directory: string): { node: string; socket: string }[] {
  const nodes = join(directory, 'nodes');
  if (!existsSync(nodes)) return [];
  return readdirSync(nodes)
    .sort()
    .map((node) => ({ node, socket: join(nodes, node, 'run', 'node.sock') }))
    .filter(({ socket }) => existsSync(socket));
}
