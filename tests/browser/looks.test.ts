import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { needs } from '../tier.ts';
import type { View } from './browser.ts';
import { heldByWindow, steady, writeCluster } from './cluster-objects.ts';
import { serve } from './served.ts';

const views: readonly (View & { readonly name: string })[] = [
  { name: 'phone', width: 360, height: 740 },
  { name: 'dark', width: 1440, height: 1000, theme: 'dark' },
  { name: 'wall', width: 2560, height: 1440 },
];
/** Every page with its main statement. */
const pages: readonly (readonly [path: string, statement: RegExp])[] = [
  ['', /^The cluster runs 1\.0\.0$/],
  ['releases', /^1 release is at hand, 1 on every control-plane node$/],
  ['releases/ocp-release-bundle-1.0.0-x86_64', /It is whole on 3 of 3 control-plane nodes$/],
  ['update', /^The cluster runs 1\.0\.0$/],
  ['update/1.0.0', /^The cluster runs 1\.0\.0 already\.$/],
  ['preflight', /^No release was looked at yet$/],
  ['nodes', /^40 nodes: 10 staged and held, 30 up to date$/],
  ['nodes?view=calendar', /^40 nodes: 10 staged and held, 30 up to date$/],
  ['nodes/node-0003', /It runs 1\.0\.0, and 1\.1\.0 is staged$/],
];
/** Frames of which a part is seen only by scrolling sideways. */
const framesThatScroll = `[...document.querySelectorAll('.sluice-node-frame, .sluice-week-frame')]
  .filter((frame) => frame.scrollWidth > frame.clientWidth).map((frame) => frame.className)`;
const fleet = 40;

describe('how the console looks', needs('browser'), () => {
  const served = serve(async (client) => {
    await writeCluster(client, {
      nodes: Array.from({ length: fleet }, (_, index) => `node-${String(index).padStart(4, '0')}`),
      agent: (_, index) => (index % 4 === 3 ? heldByWindow('1.0.0', '1.1.0') : steady('1.0.0')),
    });
  });

  for (const view of views) {
    test(`every page fits ${view.width} px and is readable by all (${view.name})`, async () => {
      const tab = await served.tab('', view);
      tab.expectErrors(); // No registry of these nodes tells the graph.
      await tab.page.locator('[data-statement]').waitFor();
      for (const [path, statement] of pages) {
        await tab.open(path);
        await tab.page.locator('[data-statement]').filter({ hasText: statement }).waitFor();
        await tab.assertAccessible(`/${path} (${view.name})`);
        const [width = 0, wanted = 0] = await tab.page.evaluate<number[]>(
          `['documentElement', 'body'].map((name) => document[name]).concat(document.getElementById('main'))
            .map((box) => [box.clientWidth, box.scrollWidth]).sort((a, b) => a[0] - a[1] - (b[0] - b[1]))[0]`,
        );
        assert.ok(wanted <= width, `/${path} needs ${wanted} px of ${width}`);
        const frames = await tab.page.evaluate<string[]>(framesThatScroll);
        assert.deepEqual(frames, [], `/${path} scrolls sideways at ${width} px`);
        if (path === '') await tab.picture(`overview-${view.name}`);
      }
      await tab.close();
    });
  }

  test('everything is reached by keyboard, in the order in which it is seen', async () => {
    const tab = await served.tab();
    await tab.page.locator('[data-statement]').waitFor();
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
    await tab.close();
  });
});
