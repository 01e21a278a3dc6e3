import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSluiceError } from '../errors/error.ts';
import { endOf, placeOf } from './window.ts';

const cluster = (by: string) => ({ kind: 'cluster', by });
const host = { kind: 'host' };

test('KUBECONFIG means its cluster, as it does for every other command', () => {
  assert.deepEqual(placeOf({}, { KUBECONFIG: '/a' }), cluster('KUBECONFIG=/a'));
  assert.deepEqual(placeOf({}, {}), host);
  assert.deepEqual(placeOf({}, { KUBECONFIG: '' }), host);
});

test('flags decide before the environment', () => {
  const environment = { KUBECONFIG: '/a' };
  assert.deepEqual(placeOf({ host: true }, environment), host);
  assert.deepEqual(placeOf({ marker: '/m' }, environment), host);
  assert.deepEqual(placeOf({ nodes: 'all' }, {}), cluster('--nodes all'));
  assert.deepEqual(placeOf({ kubeconfig: '/b', nodes: 'all' }, environment), cluster('--kubeconfig /b'));
  assert.deepEqual(placeOf({ context: 'c' }, {}), cluster('--context c'));
});

test('words that mean both are refused', () => {
  for (const words of [
    { host: true, nodes: 'all' },
    { marker: '/m', kubeconfig: '/b' },
  ]) {
    assert.throws(
      () => placeOf(words, {}),
      (error) => isSluiceError(error, 'Usage'),
    );
  }
});

test('a window ends after a time, or at one that is still to come', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  assert.equal(endOf('1h30m', now), now + 5_400_000);
  assert.equal(endOf('2026-01-01T04:00:00Z', now), now + 4 * 3_600_000);
  assert.throws(() => endOf('2025-01-01T04:00:00Z', now), /in the past/);
});
