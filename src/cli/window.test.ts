import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSluiceError } from '../errors/error.ts';
import { endOf, longWindowWarning, nodesToOpen, placeOf } from './window.ts';

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
  assert.deepEqual(placeOf({ all: true }, {}), cluster('--all'));
});

test('words that mean both are refused', () => {
  for (const words of [
    { host: true, nodes: 'all' },
    { host: true, all: true },
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
  for (const none of ['0h', '0s', '0h0m']) assert.throws(() => endOf(none, now), /closed at once/, none);
  assert.equal(endOf('0h10m', now), now + 600_000);
});

test('a window of a cluster is opened only on nodes that somebody has named, or on all that he asked for', () => {
  assert.equal(nodesToOpen({ nodes: 'master-0' }, '--kubeconfig /b'), 'master-0');
  assert.equal(nodesToOpen({ all: true }, 'KUBECONFIG=/a'), 'all');
  assert.throws(
    () => nodesToOpen({}, 'KUBECONFIG=/a'),
    (error) =>
      isSluiceError(error, 'Usage') &&
      /KUBECONFIG=\/a/.test(error.message) &&
      /--nodes .*--all.*--host/.test(error.next),
  );
});

test('a window of more than a week is opened with a warning that says how long, and how to close it', () => {
  const day = 86_400_000;
  assert.equal(longWindowWarning(7 * day, 0), undefined);
  assert.match(longWindowWarning(30 * day, 0) ?? '', /^warning: .*30d.*sluice window close/);
});
