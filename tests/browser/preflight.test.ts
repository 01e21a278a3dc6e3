import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { names } from '../../src/api/names.ts';
import type { UpdatePreflightStatus } from '../../src/api/resources.ts';
import { needs } from '../tier.ts';
import { digestOf, someTime, steady, writeCluster } from './cluster-objects.ts';
import { serve } from './served.ts';

const { clusterVersionNamespace: namespace } = names('standalone');
const reportName = 'update-cccccccccccc';

/** A report as the controller writes it: one risk, one error, one of every other result. */
function blocked(version: string): UpdatePreflightStatus {
  return {
    observedGeneration: 1,
    runID: 'r2',
    target: { version, digest: digestOf('c') },
    source: { version: '1.0.0', digest: digestOf('a') },
    verdict: 'Blocked',
    reason: 'RisksFound',
    message: '2 of 4 checks stand against the update',
    startedAt: someTime,
    finishedAt: someTime,
    checks: [
      {
        name: 'LegacyMode',
        component: 'demo',
        result: 'Risk',
        severity: 'blocking',
        reason: 'ModeIsLegacy',
        message: 'mode is legacy, and 1.1.0 does not know it any more',
        next: 'Set mode to modern in the ConfigMap.',
        objects: ['ConfigMap/default/demo-settings'],
        since: someTime,
        job: 'openshift-update-preflight/demo-check-r2',
      },
      {
        name: 'EtcdBackup',
        result: 'Error',
        severity: 'blocking',
        reason: 'ImagePullFailed',
        message: 'the image cannot be pulled: manifest unknown',
        since: someTime,
      },
      { name: 'NodesReady', result: 'Passed', message: 'all nodes are ready', since: someTime },
      { name: 'Olm', result: 'Skipped', message: 'no operators are installed', since: someTime },
    ],
    history: [
      { runID: 'r1', verdict: 'Passed', finishedAt: '2026-11-28T22:00:00Z', findings: [] },
      { runID: 'r0', verdict: 'Incomplete', finishedAt: '2026-11-27T22:00:00Z' },
    ],
  };
}

describe('the preflights', needs('browser'), () => {
  const served = serve(async (client) => {
    const media = [
      {
        name: 'ocp-release-bundle-1.1.0-x86_64',
        bundleDigest: digestOf('d'),
        version: '1.1.0',
        payload: digestOf('c'),
        verified: true,
      },
    ];
    await writeCluster(client, {
      nodes: ['master-0', 'master-1', 'master-2'],
      agent: () => ({ ...steady('1.0.0'), media }),
    });
    await client.create(client.kinds.Namespace, { metadata: { name: namespace } });
    await write(reportName, '1.1.0', blocked('1.1.0'));
    const passed: UpdatePreflightStatus = {
      ...blocked('1.2.0'),
      verdict: 'Passed',
      message: 'all checks passed',
      history: [],
    };
    const checks = (passed.checks ?? []).map((check) => ({ ...check, result: 'Passed' as const }));
    await write('look', '1.2.0', { ...passed, checks });
  });

  async function write(name: string, version: string, status: UpdatePreflightStatus): Promise<void> {
    const { client } = served;
    const kind = client.kinds.UpdatePreflight;
    const image = `release.example.com/openshift/release-images@${digestOf('c')}`;
    const made = await client.create(kind, {
      metadata: { name, namespace },
      spec: name === reportName ? { image, version } : { version },
    });
    await client.updateStatus(kind, { ...made, status });
  }

  test('reports with their verdicts, and one in full: results, words, evidence', async () => {
    const tab = await served.tab('preflight');
    const { page } = tab;
    await page.getByText('1 of 2 reports stands against an update', { exact: true }).waitFor();
    await tab.assertAccessible('the preflights');
    await page.locator(`[data-report="${reportName}"]`).getByRole('link', { name: '1.1.0' }).click();
    await page.getByRole('heading', { name: 'Preflight of 1.1.0', level: 1 }).waitFor();
    await page.getByText('2 of 4 checks stand against the update').waitFor();
    await page.getByRole('button', { name: 'Error 1' }).click();
    assert.deepEqual(await checksShown(page), ['EtcdBackup']);
    await page.getByRole('button', { name: 'Risk 1' }).click();
    assert.deepEqual(await checksShown(page), ['EtcdBackup', 'LegacyMode']);
    await page.getByRole('textbox', { name: 'Find a check' }).fill('demo-settings');
    assert.deepEqual(await checksShown(page), ['LegacyMode']);
    const risk = page.locator('[data-check="LegacyMode"]');
    await risk.getByRole('button', { name: 'Details' }).click();
    await risk.getByText('Set mode to modern in the ConfigMap.').waitFor();
    await risk.getByText('ConfigMap/default/demo-settings').waitFor();
    await risk.getByText('The Pod of the check is not there any more').waitFor();
    await tab.assertAccessible('a report');
    await tab.close();
  });

  test('a report is compared with an earlier run and with another target, by an address', async () => {
    const tab = await served.tab(`preflight/${reportName}?with=run:r1`);
    const { page } = tab;
    await page.getByText('2 of 4 differ').waitFor();
    await page.getByRole('combobox', { name: 'Compare with' }).selectOption('look');
    await page.getByRole('columnheader', { name: '1.2.0' }).waitFor();
    assert.equal(new URL(page.url()).search, '?with=look');
    await page.getByText('3 of 4 differ').waitFor();
    await tab.assertAccessible('a comparison');
    await tab.close();
  });

  test('a risk is accepted with a reason, an error is not; the acceptance can be taken back', async () => {
    const tab = await served.tab(`preflight/${reportName}`);
    const { page } = tab;
    const { client } = served;
    const kind = client.kinds.UpdatePreflight;
    assert.equal(await page.locator('[data-check="EtcdBackup"]').locator('[data-action]').count(), 0);
    const risk = page.locator('[data-check="LegacyMode"]');
    await risk.getByRole('button', { name: 'Accept', exact: true }).click();
    const dialog = page.getByRole('dialog');
    const accept = dialog.getByRole('button', { name: 'Accept' });
    assert.equal(await accept.getAttribute('aria-disabled'), 'true');
    await dialog.getByRole('textbox', { name: 'Why it is taken' }).fill('looked at by anna');
    await accept.click();
    await dialog.waitFor({ state: 'detached' });
    const accepted = await client.get(kind, reportName, namespace);
    assert.deepEqual(accepted.spec.acceptedRisks, [{ name: 'LegacyMode', reason: 'looked at by anna' }]);
    const status = blocked('1.1.0');
    const checks = (status.checks ?? []).map((check) =>
      check.name === 'LegacyMode' ? { ...check, accepted: true } : check,
    );
    await client.updateStatus(kind, { ...accepted, status: { ...status, checks } });
    await risk.getByText('Let through: looked at by anna').waitFor();
    await risk.getByRole('button', { name: 'Take the acceptance back' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Take the acceptance back' }).click();
    await tab.until(async () => {
      const { spec } = await client.get(kind, reportName, namespace);
      return (spec.acceptedRisks ?? []).length === 0;
    }, 'the acceptance was taken back');
    await tab.close();
  });

  test('a report is run again by its own button', async () => {
    const { client } = served;
    const runs = async () =>
      Object.values(
        (await client.get(client.kinds.UpdatePreflight, reportName, namespace)).metadata.annotations ?? {},
      );
    const before = await runs();
    const tab = await served.tab(`preflight/${reportName}`);
    await tab.page.getByRole('button', { name: 'Run again' }).click();
    await tab.until(async () => (await runs()).join() !== before.join(), 'a run was asked for');
    await tab.close();
  });

  test('checks are run from the page', async () => {
    const tab = await served.tab('preflight');
    const { page } = tab;
    const { client } = served;
    await page.getByRole('button', { name: 'Run checks' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox', { name: 'Release' }).selectOption('1.1.0');
    await dialog.getByRole('button', { name: 'Run the checks' }).click();
    await page.getByRole('heading', { name: 'Preflight of 1.1.0', level: 1 }).waitFor();
    const { annotations = {} } = (await client.get(client.kinds.UpdatePreflight, reportName, namespace))
      .metadata;
    assert.ok(Object.keys(annotations).length > 0, 'a run was asked for');
    await tab.close();
  });
});

async function checksShown(page: import('playwright-core').Page): Promise<(string | null)[]> {
  return await page
    .locator('[data-check]')
    .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-check')));
}
