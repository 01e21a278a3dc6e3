import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { startTestCluster, type TestCluster } from '../cluster.ts';
import { needs } from '../tier.ts';
import { launchBrowser, openTab, type View } from './browser.ts';
import { heldByWindow, steady, writeCluster } from './cluster-objects.ts';
import { startTestConsole, type TestConsole } from './console.ts';

const views: readonly (View & { readonly name: string })[] = [
  { name: 'phone', width: 360, height: 740 },
  { name: 'dark', width: 1440, height: 1000, theme: 'dark' },
  { name: 'wall', width: 2560, height: 1440 },
];
const pages = ['', 'releases', 'update', 'preflight', 'nodes', 'nodes?view=calendar'];
const fleet = 2_000;
/** A fleet's first list, on a machine with other work; the time itself is measured by bench/run console. */
const fleetMs = 120_000;

describe('how the console looks', needs('browser'), () => {
  let cluster: TestCluster;
  let served: TestConsole;
  let browser: Browser;

  before(async () => {
    cluster = await startTestCluster();
    await writeCluster(cluster.client, {
      nodes: Array.from({ length: fleet }, (_, index) => `node-${String(index).padStart(4, '0')}`),
      agent: (_, index) => (index % 4 === 3 ? heldByWindow('1.0.0', '1.1.0') : steady('1.0.0')),
    });
    served = await startTestConsole(cluster);
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await served?.close();
    await cluster?.close();
  });

  test('it tells how two thousand nodes are, and goes on while they change', async () => {
    const tab = await openTab(browser, await served.link());
    await tab.page
      .getByText('500 nodes are staged and held by a closed window')
      .waitFor({ timeout: fleetMs });
    const { client } = cluster;
    const update = await client.get(client.kinds.NodeUpdate, 'node-0003');
    await client.updateStatus(client.kinds.NodeUpdate, { ...update, status: steady('1.0.0') });
    await tab.page.getByText('499 nodes are staged and held by a closed window').waitFor();
    tab.assertClean();
    await tab.context.close();
  });

  for (const view of views) {
    test(`every page fits ${view.width} px and is readable by all (${view.name})`, async () => {
      const tab = await openTab(browser, await served.link(), view);
      tab.expectErrors(); // No registry of these nodes tells the graph.
      await tab.page.locator('[data-statement]').waitFor({ timeout: fleetMs });
      for (const path of pages) {
        await tab.open(path);
        await tab.page.locator('[data-statement]').waitFor({ timeout: fleetMs });
        await tab.assertAccessible(`/${path} (${view.name})`);
        const [width = 0, wanted = 0] = await tab.page.evaluate<number[]>(
          `['documentElement', 'body'].map((name) => document[name]).concat(document.getElementById('main'))
            .map((box) => [box.clientWidth, box.scrollWidth]).sort((a, b) => a[0] - a[1] - (b[0] - b[1]))[0]`,
        );
        assert.ok(wanted <= width, `/${path} needs ${wanted} px of ${width}`);
        if (path === '') await tab.picture(`overview-${view.name}`);
      }
      tab.assertClean();
      await tab.context.close();
    });
  }

  test('everything is reached by keyboard, in the order in which it is seen', async () => {
    const tab = await openTab(browser, await served.link());
    await tab.page.locator('[data-statement]').waitFor({ timeout: fleetMs });
    const seen: string[] = [];
    for (let press = 0; press < 14; press += 1) {
      await tab.page.keyboard.press('Tab');
      seen.push(
        await tab.page.evaluate<string>(
          "document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? ''",
        ),
      );
    }
    const wanted = ['Skip to content', 'Open the navigation', 'Sluice', 'Use the dark theme', 'Log out'];
    assert.deepEqual(seen.slice(0, 5), wanted);
    assert.deepEqual(seen.slice(5, 10), ['Overview', 'Releases', 'Update', 'Preflight', 'Nodes']);
    assert.ok(seen.includes('Open a window'), seen.join(' | '));
    await tab.context.close();
  });
});
