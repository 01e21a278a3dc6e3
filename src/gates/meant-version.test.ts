import assert from 'node:assert/strict';
import { test } from 'node:test';
import { meantVersion } from './meant-version.ts';

const versions = ['1.0.0', '1.1.0', '1.10.0-rc.1', '1.10.0'];

for (const [text, wanted] of [
  ['v1.1.0', 'Did you mean 1.1.0?'],
  ['V1.0.0', 'Did you mean 1.0.0?'],
  ['1.1', 'Did you mean 1.1.0?'],
  ['v1.10', 'Did you mean 1.10.0 or 1.10.0-rc.1?'],
  ['ocp-release-bundle-1.1.0-x86_64', 'Did you mean 1.1.0?'],
  [
    'latest',
    '"latest" is no version: the newest at hand is 1.10.0 (sluice upgrade --to-latest goes to the newest that may be gone to).',
  ],
  ['9.9.9', undefined],
  ['v', undefined],
] as const) {
  test(`who writes ${text} is asked: ${wanted}`, () => {
    assert.equal(meantVersion(text, versions), wanted);
  });
}

test('where there is nothing, nothing was meant', () => {
  assert.equal(meantVersion('latest', []), undefined);
});
