import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterVersion, UpdatePreflight } from '../api/resources.ts';
import type { Digest } from '../oci/digest.ts';
import { acceptedAfter } from '../preflight/request.ts';
import { recommendations, versionLines } from './upgrade-view.ts';

const now = Date.parse('2026-01-01T14:00:00Z');
const digest = (letter: string): Digest => `sha256:${letter.repeat(64)}`;
const image = (letter: string) => `q.example/r@${digest(letter)}`;
const at = '2026-01-01T04:00:00Z';

function version(fields: Partial<NonNullable<ClusterVersion['status']>>): ClusterVersion {
  return {
    apiVersion: 'config.openshift.io/v1',
    kind: 'ClusterVersion',
    metadata: { name: 'version' },
    spec: { clusterID: '' },
    status: {
      desired: { version: '1.0.0', image: image('a') },
      observedGeneration: 1,
      versionHash: '',
      availableUpdates: null,
      ...fields,
    },
  };
}

const condition = (type: string, status: 'True' | 'False' | 'Unknown', message: string, reason = '') => ({
  type,
  status,
  message,
  reason,
  lastTransitionTime: at,
});
const done = {
  state: 'Completed',
  version: '1.0.0',
  image: image('a'),
  startedTime: at,
  completionTime: at,
  verified: true,
};

test('at rest it says which version runs, and nothing more', () => {
  const told = versionLines(
    version({
      history: [done],
      conditions: [
        condition('Progressing', 'False', 'Cluster version is 1.0.0'),
        condition('ReleaseAccepted', 'True', ''),
        condition('Failing', 'False', ''),
      ],
    }),
    now,
  );
  assert.deepEqual(told, ['Cluster version is 1.0.0', 'Completed 10h ago.']);
});

test('P-128 a request that is looked at or refused is shown, with every reason on its own line', () => {
  const told = versionLines(
    version({
      history: [done],
      conditions: [condition('ReleaseAccepted', 'Unknown', 'Looking\n* a\n* b', 'PreconditionChecks')],
    }),
    now,
  ).join('\n');
  assert.match(
    told,
    /ReleaseAccepted=Unknown:\n {2}Reason: PreconditionChecks\n {2}Message: Looking\n {4}\* a\n {4}\* b/,
  );
});

test('what was forced through is shown', () => {
  assert.match(
    versionLines(version({ history: [{ ...done, acceptedRisks: 'Forced through …' }] }), now).join('\n'),
    /Let through in spite of: Forced through/,
  );
});

test('every release at hand is listed, newest first, with what is known and what is not', () => {
  const bundle = (release: string, letter: string, where: object) => ({
    name: `b-${release}`,
    version: release,
    bundleDigest: digest('e'),
    payload: digest(letter),
    heldBy: [],
    mountedOn: [],
    ...where,
  });
  const found = recommendations(
    version({
      availableUpdates: [
        { version: '1.10.0', image: image('c') },
        { version: '1.9.0', image: image('b') },
      ],
    }),
    [
      bundle('1.9.0', 'b', { heldBy: ['m0', 'm1', 'm2'] }),
      bundle('1.10.0', 'c', { heldBy: ['m0'], mountedOn: ['m1'] }),
      bundle('2.0.0', 'd', {}),
      bundle('1.0.0', 'a', {}),
    ],
    [
      {
        metadata: { name: 'update-bbbbbbbbbbbb' },
        status: { verdict: 'Blocked', message: '1 unaccepted risk: X' },
      } as UpdatePreflight,
    ],
    3,
  );
  assert.deepEqual(
    found.map((each) => [each.version, each.content, each.preflight, each.issues]),
    [
      ['2.0.0', '', 'not run', 'no path from 1.0.0'],
      ['1.10.0', 'on 1 of 3 nodes, on media (m1)', 'not run', 'none known'],
      ['1.9.0', 'on every node', 'Blocked', '1 unaccepted risk: X'],
    ],
  );
});

test('accept adds, takes back with a minus, replaces and clears', () => {
  const before = [{ name: 'A' }, { name: 'B', reason: 'r' }];
  assert.deepEqual(acceptedAfter(before, ['C,A', 'B-'], { reason: 'x' }), [
    { name: 'A' },
    { name: 'C', reason: 'x' },
  ]);
  assert.deepEqual(acceptedAfter(before, ['C'], { replace: true }), [{ name: 'C' }]);
  assert.deepEqual(acceptedAfter(before, [], { clear: true }), []);
  assert.throws(() => acceptedAfter(before, ['A', 'A-'], {}), /taken and taken back/);
  assert.throws(() => acceptedAfter(before, ['not a name'], {}), /no name of a risk/);
  assert.throws(() => acceptedAfter(before, [], {}), /which risks/);
});
