import { describe, test } from 'node:test';
import { needs } from '../tier.ts';
import { serve } from './served.ts';

/** What each page says of a cluster in which nothing is yet, and where nothing can be. */
const pages: readonly (readonly [path: string, heading: string, then: string])[] = [
  ['', 'What needs attention', 'The version of the cluster is not known yet'],
  ['releases', 'No release is at hand', 'Attach a disk that carries one; nothing is copied by that.'],
  ['update', 'No other release is at hand', 'Attach a disk that carries a newer one.'],
  ['preflight', 'No release was looked at yet', 'Attach a disk with a release and run its checks'],
  ['nodes', 'No node is known yet', 'A node stands here as soon as its agent or its kubelet reports'],
  ['nodes?view=calendar', 'No node is known yet', 'A node stands here as soon as'],
  ['nodes/nobody', 'nobody does not exist', 'It may have been removed, or its name is written differently.'],
  ['releases/none', 'none does not exist', 'It may have been removed'],
  ['preflight/none', 'none does not exist', 'It may have been removed'],
  ['update/9.9.9', 'No release 9.9.9 is at hand', 'Attach a disk that carries it, or choose another one.'],
  ['no/such/page', 'There is nothing here', 'The address leads nowhere in this console.'],
];

describe('a cluster in which nothing is yet', needs('browser'), () => {
  const served = serve(async () => {});

  test('every page says that it is empty, and what to do', async () => {
    const tab = await served.tab();
    tab.expectErrors(); // No registry tells the graph.
    for (const [path, heading, then] of pages) {
      await tab.open(path);
      await tab.page.getByRole('heading', { name: heading, exact: true }).waitFor();
      await tab.page.getByText(then).first().waitFor();
      await tab.assertAccessible(`/${path} of an empty cluster`);
    }
    await tab.close();
  });
});
