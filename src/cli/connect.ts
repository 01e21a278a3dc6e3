import type { Command } from 'commander';
import { isSluiceError, SluiceError } from '../errors/error.ts';
import { parseDuration } from '../gates/duration.ts';
import type { KubeClient } from '../kube/client.ts';
import type { KubeconfigIdentity } from '../kube/kubeconfig.ts';
import { clusterPlaces, nextWithoutKubeconfig } from './up-directory.ts';

/** The options by which every command finds its cluster, as kubectl's. */
export interface ConnectOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
}

export function withConnection(command: Command): Command {
  return command
    .option('--kubeconfig <file>', 'how to reach the cluster (default: $KUBECONFIG, ~/.kube/config)')
    .option('--context <name>', 'a context of the kubeconfig');
}

/**
 * The cluster and the identity that the options, the environment or the home directory name; where none do, the answer
 * names the kubeconfigs of clusters that were made on this machine. Errors: NotFound, InputInvalid.
 */
export async function findCluster(
  options: ConnectOptions,
  environment: NodeJS.ProcessEnv = process.env,
  places: readonly string[] = clusterPlaces(),
): Promise<KubeconfigIdentity> {
  const { findKubeconfig } = await import('../kube/kubeconfig.ts');
  try {
    return findKubeconfig({
      env: environment,
      ...(options.kubeconfig === undefined ? {} : { path: options.kubeconfig }),
      ...(options.context === undefined ? {} : { context: options.context }),
    });
  } catch (error) {
    if (options.kubeconfig !== undefined || !isSluiceError(error, 'NotFound')) throw error;
    throw new SluiceError('NotFound', error.message, { next: nextWithoutKubeconfig(places), cause: error });
  }
}

/** A client of the cluster that the options, the environment or the home directory name. */
export async function connect(
  options: ConnectOptions,
  how: { readonly installs?: boolean } = {},
): Promise<KubeClient> {
  const platform = await import('../kube/platform.ts');
  const { programVersion } = await import('../program/build.ts');
  const identity = await findCluster(options);
  return await platform.connect(identity, { userAgent: `sluice/${programVersion()}`, ...how });
}

/** Does something with a client of the cluster, and closes it whatever comes of it. */
export async function withClient(
  options: ConnectOptions,
  act: (client: KubeClient) => Promise<void>,
): Promise<void> {
  const client = await connect(options);
  try {
    await act(client);
  } finally {
    await client.close();
  }
}

/**
 * `90m`, `2h`, `1h30m`, `1d` as milliseconds. Errors: Usage.
 *
 * @param also what else may be given, said in the error.
 */
export function durationOption(text: string, also?: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    if (!isSluiceError(error, 'InputInvalid')) throw error;
    throw new SluiceError('Usage', error.message, {
      next: `Write it as 90m, 2h, 1h30m or 1d${also === undefined ? '' : `, ${also}`}.`,
    });
  }
}
