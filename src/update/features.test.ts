import assert from 'node:assert/strict';
import { test } from 'node:test';
import { featuresOf } from './features.ts';

const gates = (version: string, ...enabled: string[]) => ({
  version,
  enabled: enabled.map((name) => ({ name })),
});

test('no feature set is the default one', () => {
  assert.equal(featuresOf({}, '1.0.0').set, 'Default');
  assert.equal(featuresOf({ spec: { featureSet: 'TechPreviewNoUpgrade' } }, '1').set, 'TechPreviewNoUpgrade');
});

test('gates are those of the version that is applied, else of the newest told', () => {
  const status = { featureGates: [gates('1.1.0', 'New'), gates('1.0.0', 'Old')] };
  assert.deepEqual([...featuresOf({ status }, '1.0.0').gates], ['Old']);
  assert.deepEqual([...featuresOf({ status }, '9.9.9').gates], ['New']);
});

test('gates of one’s own are taken with the custom set only', () => {
  const customNoUpgrade = { enabled: ['Mine'] };
  assert.deepEqual(
    [...featuresOf({ spec: { featureSet: 'CustomNoUpgrade', customNoUpgrade } }, '').gates],
    ['Mine'],
  );
  assert.deepEqual([...featuresOf({ spec: { customNoUpgrade } }, '').gates], []);
});
