import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createFakeClock, settle } from '../../tests/fake-clock.ts';
import { createQueue } from './queue.ts';

const noJitter = { firstMs: 100, factor: 2, mostMs: 1000, jitter: 0 };

test('a key that is added often is handed out once', async () => {
  const queue = createQueue();
  for (const key of ['a', 'b', 'a', 'a']) queue.add(key);
  assert.equal(queue.length, 2);
  assert.equal(await queue.next(), 'a');
  assert.equal(await queue.next(), 'b');
  assert.equal(queue.length, 0);
});

test('what is added several times in one turn is one piece of work, also for who waits already', async () => {
  const queue = createQueue();
  const waiting = queue.next();
  queue.add('a');
  queue.add('a');
  assert.equal(await waiting, 'a');
  queue.done('a');
  await settle();
  assert.equal(queue.length, 0);
});

test('a key that is worked on is not handed out again before it is done', async () => {
  const queue = createQueue();
  queue.add('a');
  assert.equal(await queue.next(), 'a');
  queue.add('a');
  let handed: string | undefined;
  void queue.next().then((key) => {
    handed = key;
  });
  await settle();
  assert.equal(handed, undefined);
  queue.done('a');
  await settle();
  assert.equal(handed, 'a');
});

test('the back-off of a key doubles to its limit, and starts afresh after success', async () => {
  const clock = createFakeClock();
  const queue = createQueue({ clock, backoff: noJitter });
  const waits: number[] = [];
  for (let failure = 0; failure < 6; failure += 1) {
    waits.push(queue.addAfterFailure('a'));
    await clock.advance(1000);
    assert.equal(await queue.next(), 'a');
    queue.done('a');
  }
  assert.deepEqual(waits, [100, 200, 400, 800, 1000, 1000]);
  queue.forget('a');
  assert.equal(queue.addAfterFailure('a'), 100);
});

test('of several delays the shortest counts, and an addition now ends them', async () => {
  const clock = createFakeClock();
  const queue = createQueue({ clock });
  queue.addAfter('a', 500);
  queue.addAfter('a', 100);
  queue.addAfter('a', 900);
  assert.deepEqual(clock.sleeping(), [100]);
  queue.add('a');
  await settle();
  assert.deepEqual(clock.sleeping(), []);
  assert.equal(await queue.next(), 'a');
  queue.done('a');
  await clock.advance(1000);
  assert.equal(queue.length, 0);
});

for (const jumpMs of [3_600_000, -3_600_000]) {
  test(`a clock that is set by ${jumpMs / 3_600_000} h lengthens no wait and shortens none`, async () => {
    const clock = createFakeClock();
    const queue = createQueue({ clock, backoff: noJitter });
    queue.addAfter('long', 500);
    queue.addAfter('short', 100);
    clock.jump(jumpMs);
    queue.addAfter('long', 200); // Of the two the shorter one, whatever the clock says by now.
    queue.addAfter('short', 300);
    assert.deepEqual(clock.sleeping(), [100, 200]);
    await clock.advance(100);
    assert.equal(await queue.next(), 'short');
    await clock.advance(100);
    assert.equal(await queue.next(), 'long');
  });
}

test('a closed queue hands out nothing, and lets go of who waits', async () => {
  const clock = createFakeClock();
  const queue = createQueue({ clock });
  queue.addAfter('a', 100);
  const waiting = queue.next();
  queue.close();
  assert.equal(await waiting, undefined);
  queue.add('b');
  assert.equal(await queue.next(), undefined);
  assert.deepEqual(clock.sleeping(), []);
});

test('whatever is added, done and awaited in any order: no key twice at once, none lost', async () => {
  const operation = fc.oneof(
    fc.record({ do: fc.constant('add' as const), key: fc.constantFrom('a', 'b', 'c') }),
    fc.record({ do: fc.constant('done' as const), key: fc.constantFrom('a', 'b', 'c') }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 60 }), async (operations) => {
      const queue = createQueue();
      const working = new Set<string>();
      const owed = new Set<string>();
      const take = async () => {
        while (queue.length > 0) {
          const key = await queue.next();
          assert.ok(key !== undefined && !working.has(key));
          working.add(key);
          owed.delete(key);
        }
      };
      for (const { do: what, key } of operations) {
        if (what === 'add') {
          queue.add(key);
          owed.add(key);
        } else if (working.delete(key)) {
          queue.done(key);
        }
        await take();
      }
      for (const key of [...working]) {
        working.delete(key);
        queue.done(key);
        await take();
      }
      assert.equal(owed.size, 0);
    }),
    { numRuns: 100 },
  );
});
