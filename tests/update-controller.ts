/**
 * The update controller as a process of its own, so that a test can kill it: reads what it needs from the
 * environment, `UPDATE_KUBECONFIG`, `UPDATE_BUNDLES` (paths, parted by commas), `UPDATE_KEY`, `UPDATE_INITIAL`. Ends
 * when standard input does.
 */
import { createKubeClient } from '../src/kube/client.ts';
import { loadKubeconfig } from '../src/kube/kubeconfig.ts';
import { systemClock } from '../src/observe/clock.ts';
import { createLogger } from '../src/observe/log.ts';
import { runUpdateController } from '../src/update/controller.ts';
import { openBundles, readKeys } from './control-plane.ts';

const { UPDATE_KUBECONFIG = '', UPDATE_BUNDLES = '', UPDATE_KEY = '', UPDATE_INITIAL } = process.env;
const stop = new AbortController();
process.stdin.on('end', () => stop.abort());
process.stdin.resume();
const client = createKubeClient({
  ...loadKubeconfig(UPDATE_KUBECONFIG),
  platform: 'standalone',
  userAgent: 'sluice-test',
});
const { content } = await openBundles(UPDATE_BUNDLES.split(','));
const keys = await readKeys(UPDATE_KEY);
await runUpdateController({
  client,
  content,
  trustedKeys: async () => keys,
  clock: systemClock,
  logger: createLogger('update-test'),
  signal: stop.signal,
  platform: 'standalone',
  ...(UPDATE_INITIAL === undefined ? {} : { initialRelease: UPDATE_INITIAL }),
});
process.exit(0);
