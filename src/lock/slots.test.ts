import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { advance, type Holder, lock, unlock } from './slots.ts';

const now = '2026-01-01T00:00:00Z';
const view = { overdue: () => false, undrained: false, drains: true };

test('a slot is reserved, drained, granted, given back; the second waits', () => {
  const first = lock({ slots: 1, holders: [] }, { id: 'a', node: 'master-0' }, now, view);
  assert.ok(first.kind === 'draining');
  assert.equal(first.holders[0]?.state, 'Reserved');
  const second = lock({ slots: 1, holders: first.holders }, { id: 'b' }, now, view);
  assert.ok(second.kind === 'full');
  assert.equal(second.message, `the only slot is taken by master-0 since ${now}`);
  const two = [...first.holders, { id: 'c', state: 'Granted', since: now, lastSeen: now } as const];
  const third = lock({ slots: 2, holders: two }, { id: 'b' }, now, view);
  assert.ok(third.kind === 'full');
  assert.equal(third.message, `all 2 slots are taken: master-0 since ${now}, c since ${now}`);
  const none = lock({ slots: 0, holders: [] }, { id: 'b' }, now, view);
  assert.ok(none.kind === 'full');
  assert.equal(none.message, 'the group has no slots');
  const drained = advance(first.holders, 'a', 'Granted');
  assert.equal(lock({ slots: 1, holders: drained }, { id: 'a' }, now, view).kind, 'granted');
  assert.deepEqual(unlock({ slots: 1, holders: drained }, 'a'), []);
});

test('B28 unlocking what is not held changes nothing', () => {
  const holders: Holder[] = [{ id: 'a', state: 'Granted', since: now, lastSeen: now }];
  assert.equal(unlock({ slots: 1, holders }, 'b'), holders);
  assert.equal(advance(holders, 'b', 'Granted'), holders);
});

test('never more holders than slots, whoever asks in whatever order', () => {
  const call = fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd'),
    op: fc.constantFrom('lock', 'unlock', 'drained'),
  });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 3 }), fc.array(call, { maxLength: 40 }), (slots, calls) => {
      let holders: readonly Holder[] = [];
      for (const { id, op } of calls) {
        if (op === 'unlock') holders = unlock({ slots, holders }, id);
        else if (op === 'drained') holders = advance(holders, id, 'Granted');
        else {
          const outcome = lock({ slots, holders }, { id }, now, view);
          if ('holders' in outcome) holders = outcome.holders;
        }
        assert.ok(holders.length <= slots);
        assert.equal(new Set(holders.map((holder) => holder.id)).size, holders.length);
      }
    }),
  );
});
