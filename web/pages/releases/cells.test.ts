import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeUpdate, NodeUpdateStatus } from '../../../src/api/resources.ts';
import { cellOf, percentOf } from './cells.ts';

const release = 'ocp-release-bundle-1.1.0-x86_64';

function node(status: NodeUpdateStatus): NodeUpdate {
  return {
    apiVersion: 'sluice.dev/v1',
    kind: 'NodeUpdate',
    metadata: { name: 'master-0' },
    spec: {},
    status,
  };
}

test('what a node holds counts more than what it copies or has on a disk', () => {
  const store = [{ name: release, bundleDigest: 'sha256:b', bytes: 7 }];
  const media = [{ name: release, verified: true }];
  assert.deepEqual(cellOf(release, node({ store, media }), true), {
    kind: 'held',
    bytes: 7,
    verifiedAt: undefined,
  });
});

test('a copy that stands still says why, and whether a person wanted it', () => {
  const copy = (state: string, more = {}) =>
    node({ copies: [{ release, state, bytesDone: 5, bytesTotal: 10, ...more }] });
  assert.deepEqual(cellOf(release, copy('Paused', { message: 'paused by an administrator' }), true), {
    kind: 'stopped',
    paused: true,
    done: 5,
    total: 10,
    message: 'paused by an administrator',
  });
  assert.equal(cellOf(release, copy('Failed', { reason: 'DiskFull' }), true).kind, 'stopped');
  assert.deepEqual(cellOf(release, copy('Copying', { rate: 3, secondsLeft: 2 }), true), {
    kind: 'copying',
    done: 5,
    total: 10,
    rate: 3,
    secondsLeft: 2,
  });
});

test('a disk counts only where it was verified; what is asked for is not yet there', () => {
  assert.equal(cellOf(release, node({ media: [{ name: release, verified: false }] }), false).kind, 'absent');
  assert.equal(cellOf(release, node({ media: [{ name: release, verified: true }] }), false).kind, 'mounted');
  assert.equal(cellOf(release, node({}), true).kind, 'asked');
  assert.equal(cellOf(release, undefined, false).kind, 'absent');
});

test('a hundred percent is only what is done', () => {
  assert.equal(percentOf(999, 1000), 99);
  assert.equal(percentOf(1000, 1000), 100);
  assert.equal(percentOf(0, 0), 0);
});
