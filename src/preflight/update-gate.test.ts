import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpdatePreflight } from '../api/resources.ts';
import { coverageCheck } from '../gates/preflight.ts';
import { gateData } from './update-gate.ts';

const now = Date.parse('2026-11-30T03:00:00Z');
const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
const source = digest('0');

function preflight(
  letter: string,
  version: string,
  status: Partial<UpdatePreflight['status']> = {},
): UpdatePreflight {
  return {
    apiVersion: 'config.openshift.io/v1alpha1',
    kind: 'UpdatePreflight',
    metadata: { name: `p-${letter}`, namespace: 'openshift-cluster-version', generation: 1 },
    spec: { version },
    status: {
      observedGeneration: 1,
      runID: 'r',
      verdict: 'Passed',
      checkSet: 'set',
      checks: [{ name: coverageCheck, component: 'release', result: 'Passed' }],
      finishedAt: '2026-11-30T02:00:00Z',
      source: { version: '4.16.0', digest: source },
      target: { version, digest: digest(letter) },
      ...status,
    },
  } as UpdatePreflight;
}

const data = (preflights: UpdatePreflight[], releases: { version: string; payload: string }[] = []) =>
  gateData({ preflights, source, releases, now });

test('a release may be asked for when its last report passed, for its digest and from the release that runs', () => {
  assert.deepEqual(data([preflight('b', '4.17.1'), preflight('a', '4.16.9')]), {
    digests: `${digest('a')},${digest('b')}`,
    versions: '4.16.9,4.17.1',
  });
  const nothing = { digests: '', versions: '' };
  assert.deepEqual(data([preflight('a', '4.17.0', { verdict: 'Blocked' })]), nothing);
  assert.deepEqual(data([preflight('a', '4.17.0', { verdict: 'Running' })]), nothing);
  assert.deepEqual(
    data([preflight('a', '4.17.0', { source: { version: '4.15.0', digest: digest('9') } })]),
    nothing,
  );
  assert.deepEqual(
    data([preflight('a', '4.17.0', { finishedAt: '2026-10-01T00:00:00Z' })]),
    nothing,
    'too old',
  );
  // A person took an acceptance back, and nobody has judged anew yet.
  assert.deepEqual(data([preflight('a', '4.17.0', { observedGeneration: 0 })]), nothing);
  assert.deepEqual(data([preflight('a', '4.17.0', { checks: [] })]), nothing, 'not all checks were read');
});

test('a version that names two releases opens the gate for neither; their digests still do', () => {
  const twice = data([preflight('a', '4.17.0'), preflight('b', '4.17.0')]);
  assert.deepEqual(twice, { digests: `${digest('a')},${digest('b')}`, versions: '' });
  const other = data([preflight('a', '4.17.0')], [{ version: '4.17.0', payload: digest('c') }]);
  assert.deepEqual(other, { digests: digest('a'), versions: '' });
});
