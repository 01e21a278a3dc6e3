import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpdatePreflight } from '../api/resources.ts';
import { passedDigests, passedUntil } from './passed.ts';
import { coverageCheck } from './preflight.ts';

const digest = (letter: string) => `sha256:${letter.repeat(64)}` as const;
const source = digest('a');
const finished = Date.parse('2026-01-01T12:00:00Z');
const hour = 3_600_000;
const now = finished + hour;

const coverage = { name: coverageCheck, component: 'release', result: 'Passed' as const };

function report(
  change: Partial<NonNullable<UpdatePreflight['status']>> = {},
  metadata: Partial<UpdatePreflight['metadata']> = {},
): UpdatePreflight {
  return {
    apiVersion: 'config.openshift.io/v1alpha1',
    kind: 'UpdatePreflight',
    metadata: { name: 'p', generation: 2, ...metadata },
    spec: { version: '1.1.0', maxAge: '24h' },
    status: {
      observedGeneration: 2,
      runID: 'abcdef',
      verdict: 'Passed',
      finishedAt: '2026-01-01T12:00:00Z',
      target: { digest: digest('b') },
      source: { digest: source },
      checkSet: 'set',
      checks: [coverage],
      ...change,
    },
  };
}

test('digests of reports that passed, each once, sorted', () => {
  const reports = [
    report({ target: { digest: digest('c') } }),
    report(),
    report({}, { name: 'q' }),
    report({ verdict: 'Blocked', target: { digest: digest('d') } }),
  ];
  assert.deepEqual(passedDigests(reports, { now, source }), [digest('b'), digest('c')]);
  assert.equal(passedUntil(reports, { now, source }), finished + 24 * hour + 1);
});

test('it ends by itself, at the time that was told', () => {
  const until = passedUntil([report()], { now, source }) ?? 0;
  assert.deepEqual(passedDigests([report()], { now: until - 1, source }), [digest('b')]);
  assert.deepEqual(passedDigests([report()], { now: until, source }), []);
  assert.equal(passedUntil([report()], { now: until, source }), undefined);
});

for (const [why, given] of [
  ['it runs', report({ verdict: 'Running' })],
  ['it was blocked', report({ verdict: 'Blocked' })],
  ['something could not be found out', report({ verdict: 'Incomplete' })],
  ['it was superseded', report({ verdict: 'Superseded' })],
  ['the cluster ran another release', report({ source: { digest: digest('e') } })],
  ['nobody knows what the cluster ran', report({ source: {} })],
  ['spec has changed since it was judged', report({}, { generation: 3 })],
  ['it is being deleted', report({}, { deletionTimestamp: '2026-01-01T12:30:00Z' })],
  [
    'it does not say which checks it speaks about',
    (({ checkSet: _, ...rest }) => rest)(report().status ?? {}),
  ],
  ['the checks of the release were not all read', report({ checks: [] })],
  ['it has no digest', report({ target: {} })],
  ['it is too old', report({ finishedAt: '2025-12-30T12:00:00Z' })],
  ['it comes from the future', report({ finishedAt: '2026-01-02T12:00:00Z' })],
  ['it says not when it ended', (({ finishedAt: _, ...rest }) => rest)(report().status ?? {})],
] as const) {
  test(`no digest where ${why}`, () => {
    const object: UpdatePreflight =
      'metadata' in given ? (given as UpdatePreflight) : { ...report(), status: given };
    assert.deepEqual(passedDigests([object], { now, source }), []);
  });
}

test('no digest where it is not known what the cluster runs', () => {
  assert.deepEqual(passedDigests([report({ source: {} })], { now, source: '' }), []);
});
