/**
 * The update controller as a process of its own, so that a test can kill it: reads what it needs from the
 * environment, `UPDATE_KUBECONFIG`, `UPDATE_BUNDLES` (paths, parted by commas), `UPDATE_KEY`, `UPDATE_INITIAL`,
 * `UPDATE_CONTROLLER` (`update` or `preflight`), `UPDATE_LOGS` (a directory of the Pods' logs). Ends when standard input does.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createKubeClient } from '../src/kube/client.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { systemClock } from '../src/observe/clock.ts';
import { createLogger } from '../src/observe/log.ts';
import { runPreflightController } from '../src/preflight/controller.ts';
import { runUpdateController } from '../src/update/controller.ts';
import { openBundles, readKeys } from './control-plane.ts';
import { faultyClient } from './faulty-client.ts';

const {
  UPDATE_KUBECONFIG = '',
  UPDATE_BUNDLES = '',
  UPDATE_KEY = '',
  UPDATE_INITIAL,
  UPDATE_LOGS,
} = process.env;
const stop = new AbortController();
process.stdin.on('end', () => stop.abort());
process.stdin.resume();
const plain = createKubeClient({
  ...loadKubeconfig(UPDATE_KUBECONFIG),
  platform: 'standalone',
  userAgent: 'sluice-test',
});
const client = {
  ...faultyClient(plain),
  ...(UPDATE_LOGS === undefined
    ? {}
    : { podLog: async (_: string, name: string) => await readFile(join(UPDATE_LOGS, name)) }),
};
const { content } = await openBundles(UPDATE_BUNDLES.split(','));
const keys = await readKeys(UPDATE_KEY);
const options = {
  client,
  content,
  trustedKeys: async () => keys,
  clock: systemClock,
  logger: createLogger('update-test'),
  signal: stop.signal,
  platform: 'standalone',
} as const;
if (process.env.UPDATE_CONTROLLER === 'preflight') await runPreflightController(options);
else {
  await runUpdateController({
    ...options,
    ...(UPDATE_INITIAL === undefined ? {} : { initialRelease: UPDATE_INITIAL }),
  });
}
process.exit(0);
