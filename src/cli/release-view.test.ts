import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeUpdate, NodeUpdateStatus } from '../api/resources.ts';
import { matchRelease, messageCell, progressRows, releaseRows, secondsUntilDone } from './release-view.ts';

const name = 'ocp-release-bundle-1.1.0-x86_64';

test('a version stands for the bundles that have it; a full name for itself', () => {
  const names = [name, 'ocp-release-bundle-1.1.0-aarch64', 'ocp-release-bundle-1.1.0-rc.1-x86_64'];
  assert.deepEqual(matchRelease('1.1.0', names), names.slice(0, 2));
  assert.deepEqual(matchRelease('1.1.0-rc.1', names), names.slice(2));
  assert.deepEqual(matchRelease(name, []), [name]);
  assert.deepEqual(matchRelease('9.9.9', names), []);
});

function update(node: string, status: NodeUpdateStatus): NodeUpdate {
  return { apiVersion: 'sluice.dev/v1', kind: 'NodeUpdate', metadata: { name: node }, spec: {}, status };
}

test('each node has a bar: waiting, copying, verifying, paused, verified', () => {
  const bytes = { bytesDone: 46, bytesTotal: 100 };
  const rows = progressRows(
    name,
    [
      update('b', {
        copies: [
          {
            release: name,
            state: 'Copying',
            rate: 7,
            secondsLeft: 8,
            imagesDone: 1,
            imagesTotal: 3,
            ...bytes,
          },
        ],
      }),
      update('c', { copies: [{ release: name, state: 'Verifying', ...bytes }] }),
      update('d', { copies: [{ release: name, state: 'Paused', reason: 'MediaLost', ...bytes }] }),
      update('e', { store: [{ name, bundleDigest: 'sha256:x', bytes: 100 }] }),
    ],
    ['a', 'b', 'c', 'd', 'e'],
  );
  assert.deepEqual(rows, [
    { label: 'a', done: 0, total: 0, state: 'waiting' },
    { label: 'b', done: 46, total: 100, images: { done: 1, total: 3 }, rate: 7, secondsLeft: 8 },
    { label: 'c', done: 46, total: 100, state: 'verifying' },
    { label: 'd', done: 46, total: 100, state: 'paused: MediaLost' },
    { label: 'e', done: 100, total: 100, state: 'verified' },
  ]);
});

test('the time that is left is that of the slowest node; nobody guesses for one that cannot say', () => {
  const row = (secondsLeft: number | undefined, state?: string) => ({
    label: 'a',
    done: 1,
    total: 2,
    ...(secondsLeft === undefined ? {} : { secondsLeft }),
    ...(state === undefined ? {} : { state }),
  });
  assert.equal(secondsUntilDone([row(3), row(9), row(undefined, 'verified')]), 9);
  assert.equal(secondsUntilDone([row(3), row(undefined, 'waiting')]), undefined);
  assert.equal(secondsUntilDone([row(undefined, 'verified')]), undefined);
});

test('one word for each release, and what is in use', () => {
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  const make = (type: string, status: 'True' | 'False', message = '') => ({
    type,
    status,
    reason: type,
    message,
    lastTransitionTime,
  });
  const of = (...conditions: ReturnType<typeof make>[]) => {
    const rows = releaseRows({
      object: {
        apiVersion: 'x/v1',
        kind: 'InternalReleaseImage',
        metadata: { name: 'cluster' },
        spec: { releases: [{ name }] },
        status: { conditions: [], releases: [{ name, conditions }] },
      },
      bundles: [],
      inUse: new Map([[name, 'it runs']]),
    });
    return rows[0];
  };
  assert.equal(of(make('Available', 'True'))?.state, 'Available');
  assert.equal(of(make('Available', 'True'))?.inUse, 'it runs');
  assert.equal(
    of(make('Available', 'True'), make('Degraded', 'True', 'a node'))?.state,
    'Available, degraded',
  );
  assert.equal(of(make('Installing', 'True', '46%'))?.message, '46%');
  assert.equal(of(make('Removing', 'True'))?.state, 'Removing');
  assert.equal(of(make('Mounted', 'True'), make('Available', 'False'))?.state, 'Mounted');
  assert.equal(of(make('Degraded', 'True', 'bad'))?.state, 'Degraded');
  assert.equal(of(make('Available', 'True'), make('Mounted', 'True'))?.diskFree, true);
});

test('of a release that is in trouble the cause comes first, and a table has place for it', () => {
  const cause = 'DigestMismatch on master-0: blob sha256:1 is sha256:2';
  const condition = (type: string, message: string) => ({ type, status: 'True', reason: 'R', message });
  const object = {
    spec: { releases: [{ name }] },
    status: {
      releases: [
        {
          name,
          conditions: [condition('Installing', 'Copying to 2 of 3 nodes: 0%'), condition('Degraded', cause)],
        },
      ],
    },
  } as unknown as NonNullable<Parameters<typeof releaseRows>[0]['object']>;
  const [row] = releaseRows({ object, bundles: [], inUse: new Map() });
  assert.equal(row?.message, `${cause}; Copying to 2 of 3 nodes: 0%`);
  assert.equal(messageCell(`${cause}\n  more`), `${cause} more`);
  const long = messageCell(`${cause}; ${'blob '.repeat(100)}`);
  assert.equal(long.length <= 160, true);
  assert.match(long, /^DigestMismatch on master-0: .*blob…$/);
});
