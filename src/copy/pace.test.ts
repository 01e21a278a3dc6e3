import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../observe/clock.ts';
import { createPace } from './pace.ts';

/** A clock whose sleeps are counted, and over at once. */
function countingClock(): Clock & { readonly slept: number[]; pass(ms: number): void } {
  const slept: number[] = [];
  let now = 0;
  return {
    slept,
    now: () => now,
    monotonic: () => now,
    pass: (ms: number) => {
      now += ms;
    },
    sleep: async (ms: number) => {
      slept.push(ms);
      now += ms;
    },
  };
}

const signal = new AbortController().signal;

test('flushes come one after the other, with a rest in between', async () => {
  const clock = countingClock();
  const pace = createPace({ clock, stalled: async () => undefined });
  let running = 0;
  const flush = async () => {
    running += 1;
    assert.equal(running, 1);
    await Promise.resolve();
    clock.pass(5);
    running -= 1;
    return clock.slept.length;
  };
  const rested = await Promise.all(Array.from({ length: 3 }, () => pace.flush(flush, signal)));
  assert.deepEqual(rested, [0, 1, 2]);
  assert.deepEqual(clock.slept, [20, 20]);
  clock.pass(4);
  await pace.flush(flush, signal);
  assert.deepEqual(clock.slept, [20, 20, 16], 'what came in between was a rest as well');
});

test('others that stand still beside a slow disk make the copy rest longer, and shorter again when they do not', async () => {
  const clock = countingClock();
  let stalled = 0;
  let others = 10_000_000; // They stood still all the time, as the kernel counts it.
  const pace = createPace({ clock, stalled: async () => (stalled += others) });
  let flushMs = 5;
  const restAfter = async (flushes: number) => {
    for (let turn = 0; turn < flushes; turn += 1) await pace.flush(async () => clock.pass(flushMs), signal);
    return clock.slept.at(-1) ?? 0;
  };
  const first = await restAfter(2);
  const pressed = await restAfter(20);
  assert.ok(pressed >= 2 * first, `${pressed} ms after ${first} ms`);
  others = 0;
  const relieved = await restAfter(60);
  assert.equal(relieved, first);
  [others, flushMs] = [10_000_000, 1];
  assert.equal(await restAfter(200), first / 5, 'a fast disk keeps nobody waiting for long');
});

test('what is stopped rests no more, and still flushes what it has', async () => {
  const stop = new AbortController();
  const clock = countingClock();
  const pace = createPace({ clock, stalled: async () => 0 });
  let flushed = 0;
  const flush = async () => {
    flushed += 1;
    clock.pass(5);
    stop.abort();
  };
  await Promise.all([pace.flush(flush, stop.signal), pace.flush(flush, stop.signal)]);
  assert.deepEqual([flushed, clock.slept], [2, []]);
});
