import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PreflightFact } from '../gates/facts.ts';
import type { Digest } from '../oci/digest.ts';
import { needsRun } from './implicit.ts';

const digest = (letter: string): Digest => `sha256:${letter.repeat(64)}`;
const now = 10_000_000;
const facts = {
  now,
  source: { version: '1.0.0', digest: digest('a') },
  target: {
    verified: true,
    version: '1.1.0',
    digest: digest('b'),
    previous: ['1.0.0'],
    checkSet: 'set',
    bundle: { name: 'b', digest: digest('e'), signedBy: 'k' },
  } as const,
};
const coverage = { name: 'ReleaseChecks', component: 'release', severity: 'blocking', message: '' } as const;

const report: PreflightFact = {
  object: 'update-bbbbbbbbbbbb',
  verdict: 'Passed',
  reason: 'AllPassed',
  message: '',
  targetDigest: digest('b'),
  sourceDigest: digest('a'),
  checkSet: 'set',
  finishedAt: now - 60_000,
  maxAgeMs: 3_600_000,
  checks: [],
};

for (const [name, change, wanted] of [
  ['a fresh pass is used', {}, false],
  ['a pass of another cluster release is not', { sourceDigest: digest('c') }, true],
  ['a pass that is too old is not', { finishedAt: now - 3_600_001 }, true],
  ['a report of another set of checks is not', { checkSet: 'other' }, true],
  [
    'a pass that does not say of which checks is not',
    { checkSet: undefined, checks: [{ ...coverage, result: 'Passed' }] },
    true,
  ],
  [
    'a run that could not read the checks is given its time',
    { verdict: 'Incomplete', checkSet: undefined, checks: [{ ...coverage, result: 'Error' }] },
    false,
  ],
  ['what was superseded is not', { verdict: 'Superseded' }, true],
  ['a run in flight is waited for', { verdict: 'Running', finishedAt: undefined }, false],
  ['a finding is given its time', { verdict: 'Blocked' }, false],
  [
    'a finding is looked at again while the update waits (OCPBUGS-5505)',
    { verdict: 'Blocked', finishedAt: now - 120_000 },
    true,
  ],
  ['what could not be completed too', { verdict: 'Incomplete', finishedAt: now - 120_000 }, true],
] as const) {
  test(name, () => {
    const { finishedAt, ...rest } = { ...report, ...change };
    assert.equal(needsRun(finishedAt === undefined ? rest : { ...rest, finishedAt }, facts), wanted);
  });
}
