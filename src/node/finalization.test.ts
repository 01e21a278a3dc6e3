import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentReport } from '../finalize/report.ts';
import { statusOf } from './finalization.ts';

const report: AgentReport = {
  state: 'Idle',
  holds: [],
  os: {},
  bootID: 'b',
  driver: 'simulated',
  strategies: ['periodic'],
  enabled: true,
  configWarnings: [],
};

test('the weekly windows are shown as people write them, and go with the strategy', () => {
  const calendar = {
    timeZone: 'Europe/Berlin',
    windows: [
      { startMinute: 5 * 1440 + 22 * 60 + 5, lengthMinutes: 150 },
      { startMinute: 0, lengthMinutes: 10_080 },
    ],
  };
  const shown = statusOf({ ...report, calendar }, '0.1.0', undefined, 0) as { calendar?: unknown };
  assert.deepEqual(shown.calendar, {
    timeZone: 'Europe/Berlin',
    windows: [
      { day: 'Sat', start: '22:05', minutes: 150 },
      { day: 'Mon', start: '00:00', minutes: 10_080 },
    ],
  });
  assert.equal((statusOf(report, '0.1.0', undefined, 0) as { calendar?: unknown }).calendar, null);
});

test('a window that is closed on the node is told, and no more once another one is open', () => {
  const closedWindow = '2026-01-01T00:00:00Z';
  const told = (of: AgentReport) =>
    (statusOf(of, '0.1.0', undefined, 0) as Record<string, unknown>).closedWindow;
  assert.equal(told({ ...report, closedWindow }), closedWindow);
  assert.equal(told(report), null);
});
