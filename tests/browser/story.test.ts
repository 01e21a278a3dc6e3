import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Locator } from 'playwright-core';
import { buildReleases, keysOf, mediaOf } from '../../demo/build.ts';
import { createShell, type Teller } from '../../demo/stage.ts';
import { askForLink } from '../../src/console/link.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts';
import { loadKubeconfig } from '../../src/kube/kubeconfig.ts';
import { systemClock } from '../../src/observe/clock.ts';
import { upLayout } from '../../src/up/layout.ts';
import { readState } from '../../src/up/state.ts';
import { stopRunning } from '../../src/up/stop.ts';
import { needs, repository } from '../tier.ts';
import { launchBrowser, openTab, type Tab } from './browser.ts';

const startMs = 240_000;
/** Milliseconds for what a cluster does by itself: a run of checks, a copy, reboots, on a machine with others on it. */
const workMs = 180_000;

/**
 * The story of ./quickstart, done by clicking: releases that were really built and signed, a cluster of `sluice up`,
 * its own console. Nothing is asserted but what a person sees.
 */
describe('an update from a disk, in the browser', needs('browser', 'root', 'busybox'), () => {
  // A socket's path is short (unix(7)), so the directory is.
  const directory = mkdtempSync('/tmp/sluice-story-');
  const layout = upLayout(join(directory, 'cluster'));
  const program = join(repository, 'sluice');
  const quiet: Teller = { json: true, stream: process.stderr, heading: () => {}, say: () => {} };
  let up: ChildProcess | undefined;
  let browser: Browser;

  before(async () => {
    const told: string[] = [];
    const hushed = { ...createShell(quiet, program, AbortSignal.timeout(startMs), () => ({})) };
    const shell = {
      ...hushed,
      sluice: (words: readonly string[]) => hushed.sluice(words, { quiet: true }),
    };
    await buildReleases(directory, shell, quiet);
    const words = ['--dir', layout.dir, '--release', mediaOf(directory, '1.0.0')];
    up = spawn(program, ['up', ...words, '--key', join(keysOf(directory), 'sluice.pub')], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    up.stderr?.on('data', (chunk) => told.push(String(chunk)));
    for (const end = Date.now() + startMs; (await readState(layout))?.phase !== 'ready'; ) {
      assert.ok(Date.now() < end && up.exitCode === null, `the cluster did not start: ${told.join('')}`);
      await systemClock.sleep(200);
    }
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await stopRunning(layout);
    if (up?.exitCode === null) up.kill('SIGTERM');
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  });

  test('attach, look, accept, ask too early, mend, copy, update, open the window, Completed, remove', async () => {
    const { link } = await askForLink(layout.consoleSocket);
    const tab = await openTab(browser, link);
    const client = createKubeClient({ ...loadKubeconfig(layout.kubeconfig), platform: 'standalone' });
    try {
      await tab.run(() => story(tab, client));
    } finally {
      await client.close();
    }
    await tab.close();
    const log = await readFile(layout.logFile('console'), 'utf8');
    assert.doesNotMatch(log, /#code=/, 'no link lies in the log');
  });

  async function story(tab: Tab, client: KubeClient): Promise<void> {
    const { page } = tab;
    const go = (name: string) => page.getByRole('link', { name, exact: true }).first().click();
    const statement = (text: string) => page.locator('[data-statement]').getByText(text, { exact: true });
    const dialogDoes = async (button: string) => {
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: button, exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
    };

    await statement('The cluster runs 1.0.0').waitFor();
    await page.getByText('To update, attach a disk with a newer release.').click();

    await page.getByRole('button', { name: 'Attach media' }).click();
    await page.getByLabel('Path on the machine of the node').fill(mediaOf(directory, '1.1.0'));
    await dialogDoes('Attach media');
    const row = page.locator('[data-release="1.1.0"]');
    await row.locator('[data-node="master-0"]').getByText('On a disk').waitFor();
    await row.locator('[data-node="master-1"]').getByText('Not there').waitFor();
    await statement('2 releases are at hand, 1 on every control-plane node').waitFor();
    await tab.assertAccessible('the releases with a disk attached');
    await tab.picture('releases');

    await go('Update');
    await page.locator('[data-version="1.1.0"]').getByText('can be reached').waitFor();
    await tab.picture('update');
    await page.locator('[data-target="1.1.0"]').getByRole('link', { name: '1.1.0' }).click();
    await statement('Nothing was looked at yet').waitFor();
    await page.getByRole('button', { name: 'Dry run' }).click();
    await statement('This update would be refused').waitFor({ timeout: workMs });
    const risk = page.locator('[data-check="EvictionPolicyRemoved"]');
    await risk.getByText('Risk', { exact: true }).waitFor();
    await risk.getByText('set it to lru or lfu').first().waitFor();
    await tab.assertAccessible('the gates of a release that would be refused');
    await tab.picture('gates');

    await risk.getByRole('button', { name: 'Accept' }).click();
    await page.getByLabel('Why it is taken').fill('The cache is being replaced this week');
    await dialogDoes('Accept');
    await risk.getByText('Accepted', { exact: true }).waitFor({ timeout: workMs });
    await statement('Nothing stands against this update').waitFor({ timeout: workMs });
    // The cache operator of 1.1.0 would really fail: the administrator thinks better of it, and mends it.
    await risk.getByRole('button', { name: 'Take the acceptance back' }).click();
    await dialogDoes('Take the acceptance back');
    await statement('This update would be refused').waitFor({ timeout: workMs });

    // Asked for all the same, it is refused with what to do, and is taken back.
    await page.getByRole('button', { name: 'Start the update' }).click();
    await dialogDoes('Start the update');
    await statement('The cluster runs 1.0.0; the update to 1.1.0 is held up').waitFor({ timeout: workMs });
    const request = page.locator('[data-asked="1.1.0"]');
    await request.getByText('set it to lru or lfu').waitFor();
    await page.locator('[data-version="1.1.0"]').waitFor();
    await tab.picture('update-refused');
    await request.getByRole('button', { name: 'Take the request back' }).click();
    await dialogDoes('Take the request back');
    await statement('The cluster runs 1.0.0').waitFor({ timeout: workMs });
    await page.locator('[data-target="1.1.0"]').getByRole('link', { name: '1.1.0' }).click();
    await client.patch(
      client.kinds.ConfigMap,
      'cache-settings',
      { data: { evictionPolicy: 'lru' } },
      { namespace: 'demo-cache' },
    );
    await page.getByRole('button', { name: 'Run the checks again' }).click();
    await statement('Nothing stands against this update').waitFor({ timeout: workMs });

    await go('Releases');
    await copyWithSecondThoughts(tab, row);
    await row.getByText('It is safe to remove the disk now.').waitFor({ timeout: workMs });
    await page.getByRole('link', { name: '1.1.0', exact: true }).click();
    await page.getByText('Signed by').waitFor();
    await page.getByText('cache-operator', { exact: true }).waitFor();
    await tab.assertAccessible('a release with its contents');
    await tab.picture('release');
    await go('Releases');
    for (const node of ['master-0', 'master-1', 'master-2']) {
      await row.locator(`[data-node="${node}"]`).getByText('Whole').waitFor();
    }
    await page.getByRole('button', { name: 'Detach' }).click();
    await dialogDoes('Detach');
    await page.getByText('No media are attached to any node.').waitFor();

    await go('Update');
    await page.locator('[data-target="1.1.0"]').getByRole('link', { name: '1.1.0' }).click();
    await page.getByRole('button', { name: 'Start the update' }).click();
    await dialogDoes('Start the update');
    await statement('The cluster is going from 1.0.0 to 1.1.0').waitFor({ timeout: workMs });
    await tab.assertAccessible('an update under way');
    await tab.picture('update-under-way');

    await go('Overview');
    const held = page.locator('[data-problem="held-marker_file"]');
    await held.getByText('3 nodes are staged and held by a closed window').waitFor({ timeout: workMs });
    await held.getByText('Held: master-0, master-1, master-2.').waitFor();
    await page.locator('[data-current="rebooted"]').getByText('0 of 3 nodes run it.').waitFor();
    await tab.assertAccessible('an update that nodes hold');
    await tab.picture('overview-held');

    await go('Nodes');
    await page.getByText('master-0').first().waitFor();
    await tab.assertAccessible('nodes that are held');
    await tab.picture('nodes');
    await go('Preflight');
    await statement('No report stands against an update').waitFor();
    await tab.assertAccessible('the preflights');
    await tab.picture('preflight');
    await go('Overview');
    await held.getByRole('button', { name: 'Open a window' }).click();
    await tab.picture('window');
    await dialogDoes('Open a window');
    await statement('The cluster runs 1.1.0').waitFor({ timeout: workMs });
    const completed = page.getByRole('row', { name: /^1\.1\.0/ });
    await completed.getByText('Completed').waitFor();
    await tab.picture('overview-completed');

    await go('Releases');
    const inUse = row.getByRole('button', { name: 'Remove' });
    assert.equal(await inUse.getAttribute('aria-disabled'), 'true');
    await inUse.focus();
    await page.getByRole('tooltip').getByText('In use: the cluster runs it').waitFor();
    const old = page.locator('[data-release="1.0.0"]');
    const remove = old.getByRole('button', { name: 'Remove' });
    await tab.until(
      async () => (await remove.getAttribute('aria-disabled')) !== 'true',
      'nothing uses 1.0.0 any more',
    );
    await remove.click();
    await page
      .getByRole('dialog')
      .getByText(/It frees [\d.]+ \w+ on each of 3 nodes/)
      .waitFor();
    await tab.picture('remove');
    await dialogDoes('Remove');
    await old.waitFor({ state: 'detached', timeout: workMs });
    await statement('1 release is at hand, 1 on every control-plane node').waitFor();
  }

  /** Copied, cancelled, copied again, paused, and let go on: agents that stand still keep it from being over before. */
  async function copyWithSecondThoughts(tab: Tab, row: Locator): Promise<void> {
    const { page } = tab;
    const cell = (node: string) => row.locator(`[data-node="${node}"]`);
    const press = (name: string) => row.getByRole('button', { name, exact: true }).click();
    await withAgentsStopped(['master-0', 'master-1', 'master-2'], async () => {
      await press('Copy to every node');
      await cell('master-1').getByText('Asked for').waitFor();
      await press('Cancel the copy');
      const dialog = page.getByRole('dialog', { name: 'Cancel the copy of 1.1.0?' });
      await dialog.getByRole('button', { name: 'Cancel the copy' }).click();
      await dialog.waitFor({ state: 'detached' });
      await cell('master-1').getByText('Not there').waitFor();
    });
    await withAgentsStopped(['master-1', 'master-2'], async () => {
      await press('Copy to every node');
      await cell('master-0').getByText('Whole').waitFor({ timeout: workMs });
      await press('Pause');
      await row.getByRole('button', { name: 'Resume', exact: true }).waitFor();
    });
    for (const node of ['master-1', 'master-2']) {
      await cell(node).getByText('Paused', { exact: true }).waitFor({ timeout: workMs });
    }
    await tab.assertAccessible('a copy that is paused');
    await tab.picture('copy-paused');
    await press('Resume');
  }

  /** While the agents of these nodes, children of `up`, are stopped. */
  async function withAgentsStopped(nodes: readonly string[], during: () => Promise<void>): Promise<void> {
    const pids = await Promise.all(nodes.map(agentOf));
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    try {
      await during();
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    }
  }

  async function agentOf(node: string): Promise<number> {
    const { pid } = (await readState(layout)) ?? {};
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    for (const child of children.trim().split(' ')) {
      const words = (await readFile(`/proc/${child}/cmdline`, 'utf8')).split('\0').join(' ');
      if (words.includes(`node run --name ${node} `)) return Number(child);
    }
    throw new Error(`there is no agent of ${node}`);
  }
});
