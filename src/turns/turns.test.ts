import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTurns } from './turns.ts';

for (const [width, most] of [
  [undefined, 1],
  [3, 3],
] as const) {
  test(`at most ${most} run at a time, in the order in which they were asked for, whether one fails or not`, async () => {
    const turns = createTurns(width);
    const begun: number[] = [];
    let running = 0;
    let seen = 0;
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, (_, at) =>
        turns(async () => {
          begun.push(at);
          running += 1;
          seen = Math.max(seen, running);
          await new Promise((resolve) => setImmediate(resolve));
          running -= 1;
          if (at % 4 === 1) throw new Error(`${at}`);
          return at;
        }),
      ),
    );
    assert.equal(seen, most);
    assert.deepEqual(
      begun,
      Array.from({ length: 10 }, (_, at) => at),
    );
    assert.deepEqual(
      results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason.message)),
      [0, '1', 2, 3, 4, '5', 6, 7, 8, '9'],
    );
  });
}
