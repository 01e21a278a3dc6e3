import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { startTestCluster, type TestCluster } from '../cluster.ts';
import { needs } from '../tier.ts';
import { launchBrowser, openTab } from './browser.ts';
import { heldByWindow, steady, writeCluster } from './cluster-objects.ts';
import { startTestConsole, type TestConsole } from './console.ts';

describe('the overview', needs('browser'), () => {
  let cluster: TestCluster;
  let served: TestConsole;
  let browser: Browser;

  before(async () => {
    cluster = await startTestCluster();
    await writeCluster(cluster.client, { nodes: ['master-0', 'master-1', 'master-2'] });
    served = await startTestConsole(cluster);
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await served?.close();
    await cluster?.close();
  });

  test('says which version runs, and that nothing needs attention', async () => {
    const tab = await openTab(browser, await served.link());
    await tab.page.getByText('The cluster runs 1.0.0', { exact: true }).waitFor();
    await tab.page.getByText('Nothing needs attention.').waitFor();
    assert.equal(await tab.page.title(), 'Overview · Sluice');
    assert.equal(new URL(tab.page.url()).hash, '', 'the code of the link is gone from the address');
    await tab.assertAccessible('the overview');
    tab.assertClean();
    await tab.context.close();
  });

  test('shows what holds a node the moment that it is held, and how to go on', async () => {
    const tab = await openTab(browser, await served.link());
    await tab.page.getByText('Nothing needs attention.').waitFor();
    const { client } = cluster;
    const update = await client.get(client.kinds.NodeUpdate, 'master-1');
    const status = heldByWindow('1.0.0', '1.1.0');
    await client.updateStatus(client.kinds.NodeUpdate, { ...update, status });
    const problem = tab.page.locator('[data-problem="held-marker_file"]');
    await problem.getByText('1 node is staged and held by a closed window').waitFor();
    await problem.getByText('Held: master-1.').waitFor();
    await problem.getByRole('button', { name: 'Open a window' }).click();
    const dialog = tab.page.getByRole('dialog', { name: 'Open a window for this node' });
    await dialog.getByLabel('For how long').selectOption('4 hours');
    await tab.assertAccessible('the dialog of a window');
    await dialog.getByRole('button', { name: 'Open a window' }).click();
    await dialog.waitFor({ state: 'detached' });
    const opened = await client.get(client.kinds.NodeUpdate, 'master-1');
    const left = Date.parse(opened.spec.window?.notAfter ?? '') - Date.now();
    assert.ok(left > 3.9 * 3_600_000 && left <= 4 * 3_600_000, `${left} ms are left`);
    assert.equal(opened.spec.window?.once, true);
    await tab.page
      .locator('[data-open-windows="1"]')
      .getByRole('button', { name: 'Close the window' })
      .click();
    await tab.page.getByRole('dialog').getByRole('button', { name: 'Close the window' }).click();
    await tab.page.locator('[data-open-windows]').waitFor({ state: 'detached' });
    await problem.getByRole('button', { name: 'See the nodes' }).click();
    assert.equal(new URL(tab.page.url()).pathname, '/nodes');
    const held = await client.get(client.kinds.NodeUpdate, 'master-1');
    assert.equal(held.spec.window, undefined);
    await client.updateStatus(client.kinds.NodeUpdate, { ...held, status: steady('1.0.0') });
    tab.assertClean();
    await tab.context.close();
  });

  test('marks what it shows as old while the cluster is away, and goes on by itself', async () => {
    const tab = await openTab(browser, await served.link());
    await tab.page.getByText('The cluster runs 1.0.0', { exact: true }).waitFor();
    tab.expectErrors();
    await cluster.restart();
    await tab.page.getByText('The connection to the cluster is lost').waitFor();
    await tab.page.getByText('The cluster runs 1.0.0', { exact: true }).waitFor();
    await tab.page.getByText('The connection to the cluster is lost').waitFor({ state: 'detached' });
    const { client } = cluster;
    const version = await client.get(client.kinds.ClusterVersion, 'version');
    const completed = version.status?.history?.[0];
    assert.ok(completed !== undefined && version.status !== undefined);
    const release = { version: '1.0.1', image: completed.image };
    await client.updateStatus(client.kinds.ClusterVersion, {
      ...version,
      status: { ...version.status, desired: release, history: [{ ...completed, ...release }] },
    });
    await tab.page.getByText('The cluster runs 1.0.1', { exact: true }).waitFor();
    await tab.context.close();
  });
});
