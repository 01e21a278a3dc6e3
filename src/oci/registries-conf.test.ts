import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointsOf, parseRegistryRules } from './registries-conf.ts';

const text = `
unqualified-search-registries = ["docker.io"]
[[registry]]
prefix = "quay.io/openshift"
location = "quay.io/openshift"
blocked = true
mirror-by-digest-only = true
[[registry.mirror]]
location = "mirror.local:5000/ocp"
[[registry.mirror]]
location = "[fd00::1]:5000/ocp"
insecure = true
pull-from-mirror = "all"
[[registry]]
location = "quay.io"
[[registry.mirror]]
location = "cache.local/quay"
pull-from-mirror = "tag-only"
[[registry]]
prefix = "*.example.org"
[[registry.mirror]]
location = "all.local/x"
[[registry]]
location = "blocked.io"
blocked = true
`;

test('P12 mirrors of the longest prefix come first; a blocked registry does not block its mirrors', async () => {
  const rules = await parseRegistryRules(text, 'registries.conf');
  const places = (name: string) => {
    const [host = '', ...rest] = name.split('/');
    return endpointsOf(rules, { host, repository: rest.join('/') }).map(
      (each) => `${each.host}/${each.repository}${each.insecure ? ' insecure' : ''} ${each.pulls}`,
    );
  };
  assert.deepEqual(places('quay.io/openshift/release'), [
    'mirror.local:5000/ocp/release digest-only',
    '[fd00::1]:5000/ocp/release insecure all',
  ]);
  assert.deepEqual(places('quay.io/openshiftx/release'), [
    'cache.local/quay/openshiftx/release tag-only',
    'quay.io/openshiftx/release all',
  ]);
  assert.deepEqual(places('a.example.org/b/c'), ['all.local/x/b/c all', 'a.example.org/b/c all']);
  assert.deepEqual(places('docker.io/library/x'), ['docker.io/library/x all']);
  assert.throws(() => places('blocked.io/x'), { code: 'Forbidden', message: /blocked/ });
});

test('files that cannot be meant are refused with their place', async () => {
  for (const bad of [
    '[[registry',
    'registry = 1',
    '[[registry]]\ninsecure = true',
    '[[registry]]\nlocation = 5',
  ]) {
    await assert.rejects(parseRegistryRules(bad, 'x.conf'), { code: 'InputInvalid', message: /x\.conf/ });
  }
});
