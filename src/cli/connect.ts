import type { Command } from 'commander';
import { isSluiceError, SluiceError } from '../errors/error.ts';
import { parseDuration } from '../gates/duration.ts';
import type { KubeClient } from '../kube/client.ts';

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

/** A client of the cluster that the options, the environment or the home directory name. */
export async function connect(
  options: ConnectOptions,
  how: { readonly installs?: boolean } = {},
): Promise<KubeClient> {
  const { findKubeconfig } = await import('../kube/kubeconfig.ts');
  const platform = await import('../kube/platform.ts');
  const { programVersion } = await import('../program/build.ts');
  const identity = findKubeconfig({
    ...(options.kubeconfig === undefined ? {} : { path: options.kubeconfig }),
    ...(options.context === undefined ? {} : { context: options.context }),
  });
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

/** `90m`, `2h`, `1h30m`, `1d` as milliseconds. Errors: Usage. */
export function durationOption(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    if (!isSluiceError(error, 'InputInvalid')) throw error;
    throw new SluiceError('Usage', error.message, { next: 'Write it as 90m, 2h, 1h30m or 1d.' });
  }
}
