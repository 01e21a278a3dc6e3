import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { HostFacts } from './host.ts';
import { createHostLook } from './look.ts';
import { shippedManifests } from './manifests.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-look-'));
after(() => rmSync(root, { recursive: true, force: true }));
mkdirSync(join(root, 'booted/run/systemd/system'), { recursive: true });

/** A host that the test lets go wrong. */
function play(name = 'booted') {
  const stage = {
    facts: {} as HostFacts | undefined,
    keep: async (): Promise<readonly string[]> => [],
    agent: 'ActiveState=active\nSubState=running\n',
  };
  const host = createHostLook({
    facts: async () => stage.facts,
    keep: () => stage.keep(),
    root: join(root, name),
    systemctl: async () => stage.agent,
    logger: { info() {} },
  });
  return { stage, host };
}

test('a host that was not looked at, has no certificates, or could not be kept is not ready, and it says why', async () => {
  const { stage, host } = play();
  assert.match(host.problem() ?? '', /not been looked at/);
  stage.facts = undefined;
  await host.look();
  assert.match(host.problem() ?? '', /made no certificates yet/);
  stage.facts = {} as HostFacts;
  stage.keep = () => Promise.reject(new Error('Job for sluice-registry@x.service failed'));
  await assert.rejects(host.look(), /failed/);
  assert.match(host.problem() ?? '', /^Job for sluice-registry@x\.service failed/);
  stage.keep = async () => [];
  await host.look();
  assert.equal(host.problem(), undefined);
});

test('neither is one whose agent does not come up', async () => {
  const { stage, host } = play();
  stage.agent = 'ActiveState=activating\nSubState=auto-restart\n';
  await host.look();
  assert.match(
    host.problem() ?? '',
    /^sluice-node\.service is activating \(auto-restart\): journalctl -u sluice-node/,
  );
  stage.agent = 'ActiveState=active\nSubState=running\n';
  await host.look();
  assert.equal(host.problem(), undefined);
  stage.agent = '';
  await host.look();
  assert.match(host.problem() ?? '', /is unknown/, 'what is not told is no yes');
});

test('a host without systemd is left alone, and holds up no other', async () => {
  const { stage, host } = play('without');
  stage.keep = () => Promise.reject(new Error('this host runs no systemd'));
  await assert.rejects(host.look(), /no systemd/);
  assert.equal(host.problem(), undefined);
});

test('both DaemonSets, on either platform, are ready by that alone, and go on only when one is', () => {
  for (const platform of ['kubernetes', 'openshift'] as const) {
    const sets = shippedManifests(platform).filter(({ kind }) => kind === 'DaemonSet') as unknown as {
      spec: {
        updateStrategy: { rollingUpdate: { maxUnavailable: unknown } };
        template: { spec: { containers: { args: string[]; readinessProbe?: { httpGet: object } }[] } };
      };
    }[];
    assert.equal(sets.length, 2);
    for (const { spec } of sets) {
      const [container] = spec.template.spec.containers;
      assert.ok(container !== undefined);
      const at = container.args.indexOf('--status-listen');
      assert.match(container.args[at + 1] ?? '', /:8080$/);
      assert.deepEqual(container.readinessProbe?.httpGet, {
        ...{ path: '/readyz', port: 'status', scheme: 'HTTP' },
      });
      assert.ok(spec.updateStrategy.rollingUpdate.maxUnavailable);
    }
  }
});

test('whatever Pods are asked at is served in either family of addresses', () => {
  for (const platform of ['kubernetes', 'openshift'] as const) {
    const listens = JSON.stringify(shippedManifests(platform)).match(/"[^"]*:(3333|8080|9443)"/g) ?? [];
    assert.equal(listens.length, 4, listens.join());
    for (const each of listens) assert.match(each, /^"\[::\]:/);
  }
});
