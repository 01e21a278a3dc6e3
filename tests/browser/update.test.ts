import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { names } from '../../src/api/names.ts';
import { needs } from '../tier.ts';
import { digestOf, someTime, steady, writeCluster } from './cluster-objects.ts';
import { serve } from './served.ts';

const image = (letter: string) => `release.example.com/openshift/release-images@${digestOf(letter)}`;
const onMedia = (version: string, bundle: string, payload: string) => ({
  name: `ocp-release-bundle-${version}-x86_64`,
  bundleDigest: digestOf(bundle),
  version,
  payload: digestOf(payload),
  verified: true,
});
const refusal = (version: string) =>
  `Preconditions failed for payload loaded version="${version}" image="x": Precondition "EvictionPolicyRemoved" failed because of "cache": random is gone\n  Next: set it to lru`;

/** What the update controller would say, written; the requests are the console's own, to a real API. */
describe('asking for an update', needs('browser'), () => {
  const served = serve(async (client) => {
    await writeCluster(client, {
      nodes: ['master-0', 'master-1', 'master-2'],
      agent: () => ({
        ...steady('1.0.0'),
        media: [onMedia('1.1.0', 'd', 'c'), onMedia('1.2.0', 'f', 'e')],
      }),
    });
    const { clusterVersionNamespace: name } = names('standalone');
    await client.create(client.kinds.Namespace, { metadata: { name } });
    const kind = client.kinds.ClusterVersion;
    const version = await client.get(kind, 'version');
    assert.ok(version.status !== undefined);
    const availableUpdates = [
      { version: '1.1.0', image: image('c') },
      { version: '1.2.0', image: image('e') },
    ];
    await client.updateStatus(kind, { ...version, status: { ...version.status, availableUpdates } });
  });

  const asked = async () =>
    (await served.client.get(served.client.kinds.ClusterVersion, 'version')).spec.desiredUpdate;

  /** The controller's answer to what is asked for now. */
  async function answer(version: string, history: object[] = []): Promise<void> {
    const { client } = served;
    const kind = client.kinds.ClusterVersion;
    const object = await client.get(kind, 'version');
    const { status } = object;
    assert.ok(status !== undefined);
    const accepted = {
      type: 'ReleaseAccepted',
      status: 'False' as const,
      lastTransitionTime: someTime,
      reason: 'PreconditionChecks',
      message: refusal(version),
    };
    await client.updateStatus(kind, {
      ...object,
      status: {
        ...status,
        observedGeneration: object.metadata.generation ?? 0,
        ...(history.length === 0
          ? {}
          : {
              desired: { version: '1.1.0', image: image('c') },
              history: [...history, ...(status.history ?? [])] as never,
            }),
        conditions: [...(status.conditions ?? []).filter(({ type }) => type !== accepted.type), accepted],
      },
    });
  }

  test('force needs the version typed, and the request carries it', async () => {
    const tab = await served.tab('update/1.1.0');
    tab.expectErrors(); // It leads to the graph then, which no registry of these nodes tells.
    const { page } = tab;
    await page.getByRole('button', { name: 'Force', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Force the update to 1.1.0?' });
    const force = dialog.getByRole('button', { name: 'Force', exact: true });
    const typed = dialog.getByRole('textbox', { name: 'Type 1.1.0 to force it' });
    for (const wrong of ['', '1.1', '1.2.0']) {
      await typed.fill(wrong);
      assert.equal(await force.getAttribute('aria-disabled'), 'true', `after "${wrong}"`);
      await typed.press('Enter');
    }
    assert.equal(await asked(), undefined, 'nothing was asked for by then');
    await typed.fill('1.1.0');
    await tab.assertAccessible('the dialog that forces');
    await force.click();
    await dialog.waitFor({ state: 'detached' });
    const { version, force: isForced, image: by } = (await asked()) ?? {};
    assert.deepEqual([version, isForced], ['1.1.0', true]);
    assert.match(by ?? '', new RegExp(`@${digestOf('c')}$`));
    await tab.close();
  });

  test('what is refused says why and since when, and the request is taken back', async () => {
    const tab = await served.tab('update');
    tab.expectErrors(); // No registry of these nodes tells the graph.
    const { page } = tab;
    const { client } = served;
    const spec = { desiredUpdate: { version: '1.1.0', image: image('c') } };
    await client.patch(client.kinds.ClusterVersion, 'version', { spec });
    await answer('1.1.0');
    const request = page.locator('[data-asked="1.1.0"]');
    await request.getByText('The update to 1.1.0 is refused').waitFor();
    await request.getByText('random is gone').waitFor();
    await request.getByText('set it to lru').waitFor();
    await request.getByText(/since .* ago/).waitFor();
    await tab.assertAccessible('an update that is refused');
    await request.getByRole('button', { name: 'Take the request back' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Take the request back' }).click();
    await request.waitFor({ state: 'detached' });
    assert.equal(await asked(), undefined);
    await page.locator('[data-statement]').getByText('The cluster runs 1.0.0', { exact: true }).waitFor();
    await tab.close();
  });

  test('an operator that has trouble is found from the overview, by an address of its own', async () => {
    const { client } = served;
    const kind = client.kinds.ClusterOperator;
    const condition = (type: string, status: 'True' | 'False', message: string) => ({
      type,
      status,
      reason: 'X',
      message,
      lastTransitionTime: someTime,
    });
    for (const [name, message] of [
      ['dns', ''],
      ['storage', 'the pool is full'],
    ] as const) {
      const made = await client.create(kind, { metadata: { name }, spec: {} });
      const conditions = [
        condition('Available', 'True', 'works'),
        condition('Progressing', 'False', 'at 1.0.0'),
        condition('Degraded', message === '' ? 'False' : 'True', message),
      ];
      await client.updateStatus(kind, {
        ...made,
        status: { conditions, versions: [{ name: 'operator', version: '1.0.0' }] },
      });
    }
    const tab = await served.tab();
    tab.expectErrors(); // As above.
    const { page } = tab;
    const problem = page.locator('[data-problem="operator-storage"]');
    await problem.getByText('the pool is full').waitFor();
    await problem.getByRole('link', { name: 'See the operators' }).click();
    const { pathname, search } = new URL(page.url());
    assert.equal(`${pathname}${search}`, '/update?operator=storage');
    const row = page.locator('[data-operator="storage"]');
    await row.getByText('Degraded').waitFor();
    await row.getByText('the pool is full').waitFor();
    assert.match((await row.getAttribute('class')) ?? '', /sluice-differs/);
    await page.locator('[data-operator="dns"]').getByText('Up to date').waitFor();
    await tab.close();
  });

  test('another request that is refused while an update runs does not hide it', async () => {
    const { client } = served;
    const spec = { desiredUpdate: { version: '1.2.0', image: image('e') } };
    await client.patch(client.kinds.ClusterVersion, 'version', { spec });
    const entry = { state: 'Partial', startedTime: someTime, completionTime: null, verified: true };
    await answer('1.2.0', [{ ...entry, version: '1.1.0', image: image('c') }]);
    const tab = await served.tab();
    tab.expectErrors(); // As above.
    const { page } = tab;
    await page.getByText('The cluster is going from 1.0.0 to 1.1.0', { exact: true }).waitFor();
    await page
      .locator('[data-problem="refused"]')
      .getByText('1.2.0, which is asked for too, is refused; the update to 1.1.0 goes on')
      .waitFor();
    await page.getByRole('link', { name: 'See what is in the way' }).click();
    assert.equal(new URL(page.url()).pathname, '/update/1.2.0');
    await page.locator('[data-asked="1.2.0"]').getByText('random is gone').waitFor();
    await tab.close();
  });
});
