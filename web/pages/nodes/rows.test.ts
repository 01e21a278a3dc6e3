import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../../src/api/core.ts';
import type { FleetLockGroup, NodeUpdate } from '../../../src/api/resources.ts';
import { countStates, filterNodes, nodeRows, readFilter, stagedByAll } from './rows.ts';

const now = Date.parse('2026-11-30T00:00:00Z');
const update = (name: string, status: NodeUpdate['status'], spec: NodeUpdate['spec'] = {}): NodeUpdate => ({
  apiVersion: 'sluice.dev/v1',
  kind: 'NodeUpdate',
  metadata: { name },
  spec,
  ...(status === undefined ? {} : { status }),
});
const node = (name: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
});
const degraded = {
  type: 'Degraded',
  status: 'True',
  reason: 'StageFailed',
  message: 'the image cannot be pulled',
  lastTransitionTime: '2026-11-29T00:00:00Z',
} as const;

test('a node is its Node, the report of its agent and its slot; who needs somebody stands first', () => {
  const locks: FleetLockGroup[] = [
    {
      apiVersion: 'sluice.dev/v1',
      kind: 'FleetLockGroup',
      metadata: { name: 'default' },
      spec: {},
      status: { holders: [{ id: 'x', node: 'n2', since: '2026-11-29T00:00:00Z', state: 'Granted' }] },
    },
  ];
  const rows = nodeRows(
    {
      nodes: [node('n10'), node('n3'), node('n2'), node('n1'), node('n0')],
      updates: [
        update(
          'n10',
          { state: 'Idle', booted: { version: '1.1.0' } },
          { window: { notAfter: '2026-11-29T00:00:00Z' } },
        ),
        update(
          'n3',
          { state: 'Idle', closedWindow: '2026-11-30T01:00:00Z' },
          { window: { notAfter: '2026-11-30T01:00:00Z', once: true } },
        ),
        update('n2', { state: 'Finalizing' }, { window: { notAfter: '2026-11-30T01:00:00Z', once: true } }),
        update('n1', { state: 'Held', conditions: [degraded] }),
      ],
      locks,
    },
    now,
  );
  assert.deepEqual(
    rows.map(({ name, state }) => [name, state]),
    [
      ['n1', 'trouble'],
      ['n2', 'Finalizing'],
      ['n3', 'Idle'],
      ['n10', 'Idle'],
      ['n0', 'absent'],
    ],
  );
  assert.equal(rows[0]?.message, 'the image cannot be pulled');
  assert.equal(rows[1]?.slot?.state, 'Granted');
  assert.equal(rows[1]?.window?.once, true);
  assert.equal(rows[2]?.window, undefined, 'a window that a reboot has used up is none');
  assert.equal(rows[3]?.window, undefined, 'a window that has ended is none');
  assert.equal(countStates(rows).get('Idle'), 2);
});

test('nodes are found by state, by the gate that holds them, and by any word that is shown', () => {
  const hold = (gate: string, message: string) => ({
    gate,
    reason: 'X',
    message,
    since: '2026-11-29T00:00:00Z',
  });
  const staged = { version: '1.1.0' };
  const rows = nodeRows(
    {
      nodes: [],
      updates: [
        update('a', { state: 'Held', staged, holds: [hold('users', 'anna is logged in')] }),
        update('b', { state: 'Idle' }),
        // Closed, but with nothing to boot.
        update('c', { state: 'Idle', holds: [hold('users', 'otto is logged in')] }),
      ],
      locks: [],
    },
    now,
  );
  const found = (word: string | undefined, text: string) =>
    filterNodes(rows, readFilter(word), text).map(({ name }) => name);
  assert.deepEqual(found(undefined, 'ANNA'), ['a']);
  assert.deepEqual(found('Idle', ''), ['b', 'c']);
  assert.deepEqual(found('users', ''), ['a']);
  assert.deepEqual(found('periodic', ''), []);
  assert.equal(stagedByAll(rows), undefined);
  assert.equal(stagedByAll(rows.slice(0, 1)), '1.1.0');
});
