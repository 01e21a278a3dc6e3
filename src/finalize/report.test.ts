import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { configKeys } from './config-keys.ts';
import { gateNames } from './hold.ts';
import { statusText } from './notify.ts';
import type { AgentReport } from './report.ts';
import { agentStates, transitions } from './states.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/finalization.md'), 'utf8');

test('the drawing of the states in docs/finalization.md is the table of transitions', () => {
  const drawn = [...page.matchAll(/^ {2}(\w+) --> (\w+)$/gm)].map(([, from, to]) => `${from} ${to}`).sort();
  const table = agentStates.flatMap((from) => transitions[from].map((to) => `${from} ${to}`)).sort();
  assert.deepEqual(drawn, table);
});

test('the page names every gate in its order, and every key of the configuration', () => {
  const gates = [...page.matchAll(/^\| `(\w+)` \| .* \| .* \|$/gm)].flatMap(([, name]) =>
    gateNames.includes(name as (typeof gateNames)[number]) ? [name] : [],
  );
  assert.deepEqual(gates.slice(0, gateNames.length), [...gateNames]);
  for (const key of Object.keys(configKeys)) {
    const short = key.split('.').at(-1) ?? '';
    assert.ok(
      page.includes(`\`${key}\``) || page.includes(`\`.${short}\``) || page.includes(`[[${key}]]`),
      key,
    );
  }
});

test('the words for systemctl status are zincati’s, where it has some', () => {
  const report = (state: AgentReport['state'], ...gates: string[]): AgentReport => ({
    state,
    holds: gates.map((gate) => ({ gate, reason: 'R', message: '', since: '' })),
    os: { staged: { image: 'x', digest: `sha256:${'2'.repeat(64)}`, version: '41.2' } },
    bootID: '',
    driver: 'rpm-ostree',
    strategies: [],
    enabled: true,
    configWarnings: [],
  });
  const at = Date.parse('2026-11-29T20:02:38Z');
  assert.equal(
    statusText(report('Idle'), at),
    'periodically polling for updates (last checked Sun 2026-11-29 20:02:38 UTC)',
  );
  assert.equal(statusText(report('Idle'), 0), 'initialization complete, auto-updates logic enabled');
  assert.equal(
    statusText(report('Held', 'marker_file'), 0),
    'update staged: 41.2; reboot pending due to update strategy',
  );
  assert.equal(
    statusText(report('Held', 'users'), 0),
    'update staged: 41.2; reboot delayed due to active user sessions',
  );
  assert.equal(statusText(report('Finalizing'), 0), 'update applied, waiting for reboot: 41.2');
  const staging = (state: AgentReport['state'], failures: number, ...reasons: string[]) => ({
    ...report(state),
    os: {},
    staging: { release: '41.3', failures },
    holds: reasons.map((reason) => ({ gate: 'staged', reason, message: '', since: '' })),
  });
  assert.equal(statusText(staging('Staging', 0), 0), 'trying to stage 41.3 (failed attempts: 0)');
  assert.equal(statusText(staging('Held', 2, 'StageFailed'), 0), 'trying to stage 41.3 (failed attempts: 2)');
  assert.equal(
    statusText(staging('Held', 0, 'StagedByOther'), 0),
    'found update on remote: 41.3; held: StagedByOther',
  );
  for (const each of [report('Idle'), report('Held', 'config'), staging('Held', 0, 'Disabled')]) {
    assert.equal(
      statusText({ ...each, enabled: false }, at),
      'initialization complete, auto-updates logic disabled by configuration',
    );
  }
});
