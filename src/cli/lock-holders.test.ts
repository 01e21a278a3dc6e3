import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FleetLockGroup } from '../api/resources.ts';
import { notHeldLines } from './lock-holders.ts';

const group = (name: string, holders: object[]) =>
  ({ metadata: { name }, spec: { slots: 1 }, status: { holders } }) as FleetLockGroup;

test('whoever holds no slot is told as such, with those who hold one', () => {
  const groups = [group('default', [{ id: 'a1b2', node: 'master-0' }]), group('workers', [{ id: 'c3d4' }])];
  assert.deepEqual(notHeldLines('master-9', 'default', groups), [
    'nobody called master-9 holds a slot of the group default: nothing was released',
    '  slots are held by master-0 (default), c3d4 (workers)',
  ]);
  assert.equal(
    notHeldLines('c3d4', 'default', groups)[2],
    '  next: sluice lock release c3d4 --group workers',
  );
  assert.equal(notHeldLines('x', 'default', [group('default', [])])[1], '  nobody holds a slot of any group');
});
