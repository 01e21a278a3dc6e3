import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createQueue } from './queue.ts';

test('a few who wait ask again soon; a fleet asks no more than 20 times a second', () => {
  let now = 0;
  const queue = createQueue({ monotonic: () => now });
  const all = (count: number) => Array.from({ length: count }, (_, index) => queue.refused(`node-${index}`));
  assert.deepEqual(all(3), [1, 1, 1]);
  assert.equal(queue.refused('node-0'), 1, 'who asks twice waits once');
  assert.equal(all(60).at(-1), 3);
  assert.equal(all(2000).at(-1), 10);
  now += 61_000;
  assert.equal(queue.refused('node-0'), 1, 'who has not asked for a minute waits no more');
  assert.equal(all(21).at(-1), 2);
  for (let index = 0; index < 20; index += 1) queue.left(`node-${index}`);
  assert.equal(queue.refused('node-20'), 1, 'nor does who got a slot');
});
