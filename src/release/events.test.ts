import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newsOf } from './events.ts';
import type { ReleaseImageStatus } from './report.ts';

const lastTransitionTime = '2026-01-01T00:00:00Z';

function status(name: string, conditions: Record<string, string>): ReleaseImageStatus {
  const list = Object.entries(conditions).map(([type, text]) => {
    const [value = '', reason = type] = text.split(' ');
    return { type, status: value as 'True', reason, message: `${type} ${reason}`, lastTransitionTime };
  });
  return { conditions: [], releases: [{ name, conditions: list }] };
}

const reasons = (before: ReleaseImageStatus | undefined, after: ReleaseImageStatus) =>
  newsOf(before, after).map((each) => `${each.type} ${each.reason}`);

test('each turn is news once, and words that change are none', () => {
  const copying = status('a', { Installing: 'True Copying', Available: 'False' });
  assert.deepEqual(reasons(undefined, copying), ['Normal ReleaseCopying']);
  assert.deepEqual(reasons(copying, copying), []);
  const done = status('a', { Installing: 'False', Available: 'True' });
  assert.deepEqual(reasons(copying, done), ['Normal ReleaseAvailable']);
  const damaged = status('a', { Installing: 'False', Available: 'False', Degraded: 'True DigestMismatch' });
  assert.deepEqual(reasons(done, damaged), ['Warning ReleaseNotAvailable', 'Warning DigestMismatch']);
  const other = status('a', { Installing: 'False', Available: 'False', Degraded: 'True DiskFull' });
  assert.deepEqual(reasons(damaged, other), ['Warning DiskFull']);
  assert.deepEqual(reasons(other, { conditions: [], releases: [] }), ['Normal ReleaseGone']);
});
