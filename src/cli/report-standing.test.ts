import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterVersion, UpdatePreflight } from '../api/resources.ts';
import { noUpdateFollows } from './report-standing.ts';

const digest = (letter: string) => `sha256:${letter.repeat(64)}`;

const cluster = (letter: string, version: string, states: readonly string[]) =>
  ({
    status: {
      desired: { version, image: `quay.example/release@${digest(letter)}` },
      history: states.map((state) => ({ state })),
    },
  }) as unknown as ClusterVersion;

const report = {
  status: {
    verdict: 'Passed',
    target: { version: '1.1.0', digest: digest('b') },
    source: { version: '1.0.0', digest: digest('a') },
  },
} as UpdatePreflight;

test('a report leads to no update to what already runs, is under way, or was looked at from another release', () => {
  assert.equal(noUpdateFollows(cluster('a', '1.0.0', ['Completed']), report), undefined);
  assert.match(
    noUpdateFollows(cluster('b', '1.1.0', ['Completed', 'Completed']), report) ?? '',
    /^the cluster runs 1\.1\.0 already: .* are those from before that update\n.*upgrade report show 1\.1\.0$/,
  );
  assert.match(
    noUpdateFollows(cluster('b', '1.1.0', ['Partial', 'Completed']), report) ?? '',
    /^the update to 1\.1\.0 is under way already: sluice upgrade status$/,
  );
  assert.equal(
    noUpdateFollows(cluster('c', '1.2.0', ['Completed']), report),
    'the cluster ran 1.0.0 when this was looked at, and 1.2.0 is what it has now: look again: sluice preflight run --to 1.1.0',
  );
  assert.equal(noUpdateFollows(undefined, report), undefined);
});
