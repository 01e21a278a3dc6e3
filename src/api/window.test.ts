import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeUpdate } from './resources.ts';
import { openWindowOf, windowState } from './window.ts';

const now = Date.parse('2026-01-01T00:00:00Z');
const later = '2026-01-01T00:00:01Z';
const state = (window?: NodeUpdate['spec']['window'], closedWindow?: string) =>
  windowState(
    { spec: window === undefined ? {} : { window }, status: { ...(closedWindow && { closedWindow }) } },
    now,
  );

test('a node without a window is closed; one whose window is over has ended', () => {
  assert.equal(state(), 'closed');
  assert.equal(state({ notAfter: later }), 'open');
  assert.equal(state({ notAfter: '2026-01-01T00:00:00Z' }), 'ended');
});

test('a window that the node tells to be closed is not open, until another one is opened', () => {
  assert.equal(state({ notAfter: later, once: true }, later), 'used');
  assert.equal(state({ notAfter: '2026-01-01T00:00:01.5Z', once: true }, later), 'used');
  assert.equal(state({ notAfter: later }, later), 'closed');
  const another = { notAfter: '2026-01-01T02:00:00Z', once: true };
  assert.equal(state(another, later), 'open');
  assert.deepEqual(openWindowOf({ spec: { window: another } }, now), another);
  assert.equal(
    openWindowOf({ spec: { window: another }, status: { closedWindow: another.notAfter } }, now),
    undefined,
  );
});
