import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type ControlPlane, readVersion } from './control-plane.ts';
import { repository } from './tier.ts';

/** Longer than any step takes, also beside another file of tests. */
const moveMsMax = 60_000;

/**
 * Runs a controller as a process (update-controller.ts) until the fault kills it, or until `isDone`; then ends it,
 * whatever happens.
 */
export async function runUntilKilled(
  plane: ControlPlane,
  fault: string | undefined,
  environment: Readonly<Record<string, string>>,
  isDone: () => Promise<boolean>,
): Promise<'killed' | 'done'> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(repository, 'tests', 'update-controller.ts')],
    {
      stdio: ['pipe', 'ignore', 'inherit'],
      env: {
        ...process.env,
        ...environment,
        UPDATE_KUBECONFIG: plane.cluster.kubeconfig,
        UPDATE_BUNDLES: [...plane.releases.values()].map(({ path }) => path).join(','),
        UPDATE_KEY: plane.keyFile,
        SLUICE_LOG: 'silent',
        ...(fault === undefined ? {} : { SLUICE_FAULT: fault }),
      },
    },
  );
  const exited = once(child, 'exit');
  try {
    const end = Date.now() + moveMsMax;
    while (child.exitCode === null && child.signalCode === null) {
      if (Date.now() > end) {
        const { status } = (await readVersion(plane.client)) ?? {};
        throw new Error(`it does not move: ${JSON.stringify(status ?? null).slice(0, 2000)}`);
      }
      if (await isDone()) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    child.stdin.end();
    await exited;
  }
  return child.signalCode === 'SIGKILL' ? 'killed' : 'done';
}
