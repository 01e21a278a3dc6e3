import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSluiceError } from '../errors/error.ts';
import { nodesToOpen, placeOf } from './window.ts';

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
