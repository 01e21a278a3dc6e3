import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startScriptedApi } from '../../tests/scripted-api.ts';
import { connect, platformOf } from './platform.ts';

test('the platform is told by the groups, and ours by its version', () => {
  assert.equal(platformOf(['apps', 'config.openshift.io'], 'v1.34.0+sluice'), 'standalone');
  assert.equal(platformOf(['apps', 'config.openshift.io'], 'v1.32.5'), 'openshift');
  assert.equal(platformOf(['apps', 'sluice.dev'], 'v1.34.1+rke2r1'), 'kubernetes');
});

for (const [ours, group] of [
  [true, 'sluice.dev'],
  [false, 'machineconfiguration.openshift.io'],
] as const) {
  test(`on openshift the content kinds are in ${group} where ${ours ? 'we' : 'the platform'} serve them so`, async () => {
    const api = await startScriptedApi((met, answer) => {
      if (met.path === '/version') return answer.json({ gitVersion: 'v1.32.5' });
      if (met.path === '/apis')
        return answer.json({ groups: [{ name: 'config.openshift.io' }, { name: 'sluice.dev' }] });
      answer.json({
        resources: ours ? [{ name: 'internalreleaseimages', kind: 'InternalReleaseImage' }] : [],
      });
    });
    const client = await connect({
      server: api.url,
      tls: { ca: api.caPem },
      namespace: 'default',
      context: 'test',
    });
    assert.equal(client.platform, 'openshift');
    assert.equal(client.kinds.InternalReleaseImage.group, group);
    assert.equal(client.kinds.ClusterVersion.group, 'config.openshift.io');
    await client.close();
    await api.close();
  });
}
