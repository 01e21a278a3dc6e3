import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { needs } from '../tier.ts';
import { heldByWindow, steady, writeCluster } from './cluster-objects.ts';
import { serve } from './served.ts';

describe('the overview', needs('browser'), () => {
  const served = serve(async (client) => {
    await writeCluster(client, { nodes: ['master-0', 'master-1', 'master-2'] });
  });

  test('says which version runs, and that nothing needs attention', async () => {
    const tab = await served.tab();
    await tab.page.getByText('The cluster runs 1.0.0', { exact: true }).waitFor();
    await tab.page.getByText('Nothing needs attention.').waitFor();
    assert.equal(await tab.page.title(), 'Overview · Sluice');
    assert.equal(new URL(tab.page.url()).hash, '', 'the code of the link is gone from the address');
    await tab.assertAccessible('the overview');
    await tab.close();
  });

  test('shows what holds a node the moment that it is held, and how to go on', async () => {
    const tab = await served.tab();
    await tab.page.getByText('Nothing needs attention.').waitFor();
    const { client } = served;
    const update = await client.get(client.kinds.NodeUpdate, 'master-1');
    const status = heldByWindow('1.0.0', '1.1.0');
    await client.updateStatus(client.kinds.NodeUpdate, { ...update, status });
    const problem = tab.page.locator('[data-problem="held-marker_file"]');
    await problem.getByText('1 node is staged and held by a closed window').waitFor();
    await problem.getByText('Held: master-1.').waitFor();
    await problem.getByRole('button', { name: 'Open a window' }).click();
    const dialog = tab.page.getByRole('dialog', { name: 'Open a window for master-1?' });
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
    await problem.getByRole('link', { name: 'See the nodes' }).click();
    const { pathname, search } = new URL(tab.page.url());
    assert.equal(`${pathname}${search}`, '/nodes?filter=marker_file');
    await tab.page.getByText('Held by a closed window').waitFor();
    assert.equal(await tab.page.locator('tr[data-node]').count(), 1, 'the one that is held');
    await tab.page.getByRole('button', { name: 'Show all nodes' }).click();
    await tab.page.locator('tr[data-node="master-0"]').waitFor();
    const held = await client.get(client.kinds.NodeUpdate, 'master-1');
    assert.equal(held.spec.window, undefined);
    await client.updateStatus(client.kinds.NodeUpdate, { ...held, status: steady('1.0.0') });
    await tab.close();
  });

  test('a window is opened by keyboard alone, and the focus returns to where it was', async () => {
    const { client } = served;
    const update = await client.get(client.kinds.NodeUpdate, 'master-2');
    await client.updateStatus(client.kinds.NodeUpdate, { ...update, status: heldByWindow('1.0.0', '1.1.0') });
    const tab = await served.tab();
    await tab.page.locator('[data-problem="held-marker_file"]').waitFor();
    await tab.tabTo('Open a window');
    await tab.page.keyboard.press('Enter');
    const dialog = tab.page.getByRole('dialog', { name: 'Open a window for master-2?' });
    await dialog.waitFor();
    await tab.tabTo('Cancel');
    await tab.page.keyboard.press('Shift+Tab');
    await tab.page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await tab.page.locator('[data-open-windows="1"]').waitFor();
    assert.ok((await client.get(client.kinds.NodeUpdate, 'master-2')).spec.window !== undefined);
    await tab.page.keyboard.press('Enter');
    await dialog.waitFor(); // The focus stands where it was: the same key opens it again.
    await tab.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await client.patch(client.kinds.NodeUpdate, 'master-2', { spec: { window: null } });
    const held = await client.get(client.kinds.NodeUpdate, 'master-2');
    await client.updateStatus(client.kinds.NodeUpdate, { ...held, status: steady('1.0.0') });
    await tab.close();
  });

  test('marks what it shows as old while the cluster is away, and goes on by itself', async () => {
    const tab = await served.tab();
    await tab.page.getByText('The cluster runs 1.0.0', { exact: true }).waitFor();
    tab.expectErrors();
    // It may be back before this process is told that it is.
    const lost = tab.page.getByText('The connection to the cluster is lost').waitFor();
    await Promise.all([lost, served.cluster.restart()]);
    await tab.page.getByText('The cluster runs 1.0.0', { exact: true }).waitFor();
    await tab.page.getByText('The connection to the cluster is lost').waitFor({ state: 'detached' });
    const { client } = served;
    const version = await client.get(client.kinds.ClusterVersion, 'version');
    const completed = version.status?.history?.[0];
    assert.ok(completed !== undefined && version.status !== undefined);
    const release = { version: '1.0.1', image: completed.image };
    await client.updateStatus(client.kinds.ClusterVersion, {
      ...version,
      status: { ...version.status, desired: release, history: [{ ...completed, ...release }] },
    });
    await tab.page.getByText('The cluster runs 1.0.1', { exact: true }).waitFor();
    await tab.close();
  });
});
