import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseChallenges } from './authorizer.ts';

test('challenges as registries write them', () => {
  const [bearer, basic] = parseChallenges([
    'Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull,push"',
    'Basic realm="say \\"please\\""',
  ]);
  assert.equal(bearer?.scheme, 'bearer');
  assert.deepEqual(Object.fromEntries(bearer?.parameters ?? []), {
    realm: 'https://auth.example/token',
    service: 'registry.example',
    scope: 'repository:a/b:pull,push',
  });
  assert.equal(basic?.parameters.get('realm'), 'say "please"');
  assert.deepEqual(
    parseChallenges('Basic realm=x, Bearer realm=y').map((each) => each.scheme),
    ['basic', 'bearer'],
  );
  assert.deepEqual(parseChallenges(undefined), []);
});
