import type { Command } from 'commander';
import { SluiceError } from '../errors/error.ts';
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

const units: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90m`, `2h`, `1h30m`, `1d` as milliseconds. Errors: Usage. */
export function parseDuration(text: string): number {
  const parts = [...text.matchAll(/(\d+)([smhd])/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join('') !== text) {
    throw new SluiceError('Usage', `'${text}' is not a duration`, {
      next: 'Write it as 90m, 2h, 1h30m or 1d.',
    });
  }
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (units[unit ?? ''] ?? 0), 0);
}
