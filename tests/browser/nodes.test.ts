import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeUpdateStatus } from '../../src/api/resources.ts';
import { needs } from '../tier.ts';
import { heldByWindow, someTime, steady, writeCluster } from './cluster-objects.ts';
import { serve } from './served.ts';

const many = 2_000;
const heldNode = 'worker-1500';
const calendarNode = 'worker-7';

/** The first three and most others are well; one waits for a window, one for Saturday night. */
function agentOf(name: string): NodeUpdateStatus {
  if (name === heldNode) return heldByWindow('1.0.0', '1.1.0');
  if (name === calendarNode) {
    return {
      ...heldByWindow('1.0.0', '1.1.0'),
      strategies: ['periodic'],
      calendar: { timeZone: 'America/New_York', windows: [{ day: 'Sat', start: '22:00', minutes: 240 }] },
      holds: [
        { gate: 'periodic', reason: 'OutsideWindows', message: 'no window is open now', since: someTime },
        { gate: 'users', reason: 'LoggedIn', message: 'anna is logged in on tty1', since: someTime },
      ],
      nextPossible: new Date(Date.now() + 5 * 24 * 3_600_000).toISOString(),
    };
  }
  if (/^worker-2\d$/.test(name)) {
    const windows = [{ day: 'Sun' as const, start: '01:00', minutes: 360 }];
    return { ...steady('1.0.0'), strategies: ['periodic'], calendar: { timeZone: 'Europe/Berlin', windows } };
  }
  return steady('1.0.0');
}

describe('the nodes', needs('browser'), () => {
  const served = serve(async (client) => {
    const workers = Array.from({ length: many - 3 }, (_, index) => `worker-${index}`);
    await writeCluster(client, {
      nodes: ['master-0', 'master-1', 'master-2', ...workers],
      agent: agentOf,
    });
    await client.create(client.kinds.FleetLockGroup, {
      metadata: { name: 'default' },
      spec: { slots: 1 },
    });
  });

  test('the overview tells how two thousand nodes are, and goes on while they change', async () => {
    const tab = await served.tab();
    const { client } = served;
    await tab.page.getByText('1 node is staged and held by a closed window').waitFor();
    const write = async (status: NodeUpdateStatus) => {
      const update = await client.get(client.kinds.NodeUpdate, 'worker-900');
      await client.updateStatus(client.kinds.NodeUpdate, { ...update, status });
    };
    await write(heldByWindow('1.0.0', '1.1.0'));
    await tab.page.getByText('2 nodes are staged and held by a closed window').waitFor();
    await write(steady('1.0.0'));
    await tab.page.getByText('1 node is staged and held by a closed window').waitFor();
    await tab.close();
  });

  test('of two thousand, those that need somebody stand first, and only what is seen is drawn', async () => {
    const tab = await served.tab('nodes');
    const { page } = tab;
    await page.getByText('2000 nodes: 2 staged and held, 1998 up to date', { exact: true }).waitFor();
    const drawn = page.locator('tr[data-node]');
    assert.ok((await drawn.count()) < 60, `${await drawn.count()} rows are drawn`);
    assert.deepEqual(
      await drawn.evaluateAll((rows) => rows.slice(0, 2).map((row) => row.getAttribute('data-node'))),
      [calendarNode, heldNode],
    );
    const held = page.locator(`tr[data-node="${heldNode}"]`);
    await held.getByText('no marker file allows it').waitFor();
    await held.getByText('nobody knows').waitFor();
    const frame = page.getByRole('region', { name: 'Nodes and what holds them' });
    await frame.evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
    await page.locator('tr[data-node="worker-1996"]').waitFor();
    assert.ok((await drawn.count()) < 60);
    await tab.assertAccessible('the nodes');
    await tab.close();
  });

  test('a node is found by what holds it, and says gate by gate what and since when', async () => {
    const tab = await served.tab('nodes');
    const { page } = tab;
    await page.getByRole('textbox', { name: 'Find a node' }).fill('anna');
    assert.equal(await page.locator('tr[data-node]').count(), 1);
    await page.getByRole('link', { name: calendarNode, exact: true }).click();
    await page.getByRole('heading', { name: calendarNode, level: 1 }).waitFor();
    await page.getByText('It runs 1.0.0, and 1.1.0 is staged').waitFor();
    await page.locator('[data-hold="periodic"]').getByText('no window is open now').waitFor();
    await page.locator('[data-hold="users"]').getByText('anna is logged in on tty1').waitFor();
    await page.getByText('It could reboot at the earliest').waitFor();
    await page.getByText('every week, by the clock of America/New_York').waitFor();
    await tab.assertAccessible('a node');
    await tab.picture('node');
    await tab.close();
  });

  test('the week shows each calendar by the clock of the viewer, or of the nodes', async () => {
    const tab = await served.tab('nodes?view=calendar');
    const { page } = tab;
    const weekly = page.locator('[data-week="weekly"]').filter({ hasText: 'America/New_York' });
    await weekly.getByRole('link', { name: calendarNode }).waitFor();
    // The tab is in Berlin: Saturday 22:00 in New York is Sunday morning there.
    const labels = () =>
      weekly.getByRole('img').evaluateAll((bars) => bars.map((bar) => bar.getAttribute('aria-label')));
    assert.match((await labels()).join(), /Open from Sun 0[345]:00 to Sun 0[789]:00/);
    await tab.picture('week');
    await page.getByRole('combobox', { name: 'Time zone' }).selectOption('America/New_York');
    await weekly.locator('[aria-label^="Open from Sat 22:00"]').first().waitFor();
    await tab.assertAccessible('the week');
    await tab.close();
  });

  test('a window is opened for chosen nodes by keyboard alone, and closed again', async () => {
    const tab = await served.tab('nodes?filter=Held');
    const { page } = tab;
    const { client } = served;
    await page.locator(`tr[data-node="${heldNode}"]`).waitFor();
    assert.equal(await page.locator('tr[data-node]').count(), 2);
    await page.getByRole('checkbox', { name: `Choose ${heldNode}` }).focus();
    await page.keyboard.press('Space');
    await page.getByText('1 node chosen').waitFor();
    await page.getByRole('button', { name: 'Open a window' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText(`Open a window for ${heldNode}?`).waitFor();
    await dialog.getByRole('checkbox', { name: 'Only for 1.1.0' }).focus();
    await page.keyboard.press('Space');
    await tab.assertAccessible('the dialog of a window');
    await dialog.getByRole('button', { name: 'Open a window' }).focus();
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await page.locator(`tr[data-node="${heldNode}"]`).getByText('window ends').waitFor();
    const { window } = (await client.get(client.kinds.NodeUpdate, heldNode)).spec;
    assert.equal(window?.release, '1.1.0');
    assert.ok(Math.abs(Date.parse(window?.notAfter ?? '') - Date.now() - 2 * 3600_000) < 120_000);
    await page.getByRole('link', { name: heldNode, exact: true }).click();
    await page.getByRole('button', { name: 'Close the window' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Close the window' }).click();
    await page.getByText('none is open').waitFor();
    assert.equal((await client.get(client.kinds.NodeUpdate, heldNode)).spec.window, undefined);
    await tab.close();
  });

  test('who holds a slot is seen, and the slot can be released', async () => {
    const { client } = served;
    const kind = client.kinds.FleetLockGroup;
    const group = await client.get(kind, 'default');
    const holder = { id: 'abc', node: calendarNode, since: someTime, state: 'Granted' as const };
    await client.updateStatus(kind, { ...group, status: { holders: [holder] } });
    const tab = await served.tab('nodes');
    const { page } = tab;
    const slot = page.locator(`[data-slot="${calendarNode}"]`);
    await slot.getByText('May reboot').waitFor();
    await slot.getByRole('button', { name: 'Release the slot' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Release the slot' }).click();
    await slot.waitFor({ state: 'detached' });
    assert.deepEqual((await client.get(kind, 'default')).status?.holders ?? [], []);
    await tab.close();
  });
});
