import type { Command } from 'commander';
import type { Metrics } from '../observe/metrics.ts';

interface OperationsOptions {
  readonly statusListen?: string;
}

/** Adds the option by which a long-lived command serves its health and metrics. */
export function withOperationsOptions(command: Command): Command {
  return command.option(
    '--status-listen <address:port>',
    'serve /livez, /readyz, /healthz and /metrics there, over plain HTTP',
  );
}

/** The metrics of this process, which tell of it itself already, and where they are to be served. Errors: Usage. */
export async function operationsOf({ statusListen }: OperationsOptions): Promise<{
  metrics: Metrics;
  status?: { address: string; port: number };
}> {
  const [{ createMetrics }, { observeProcess }, { parseListen }, { programBuild }] = await Promise.all([
    import('../observe/metrics.ts'),
    import('../observe/process-metrics.ts'),
    import('../http/listen.ts'),
    import('../program/build.ts'),
  ]);
  const metrics = createMetrics();
  observeProcess(metrics, programBuild());
  return { metrics, ...(statusListen === undefined ? {} : { status: parseListen(statusListen) }) };
}
