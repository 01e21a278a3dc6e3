import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../observe/clock.ts';
import { createPace } from './pace.ts';

const mebibyte = 1024 * 1024;

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

test('small writes are gathered: one flush and one rest for each piece', async () => {
  const clock = countingClock();
  const pace = createPace({ clock, stalled: async () => undefined });
  let flushes = 0;
  const settle = async () => {
    flushes += 1;
  };
  for (let at = 0; at < 4; at += 1) await pace.wrote(mebibyte / 2, settle, signal);
  assert.deepEqual([flushes, clock.slept.length], [2, 2]);
});

test('others that stand still while the copy rests make it rest longer, and shorter again when they do not', async () => {
  const clock = countingClock();
  let stalled = 0;
  let others = 10_000_000; // They stood still all the time, as the kernel counts it.
  const pace = createPace({ clock, stalled: async () => (stalled += others) });
  const settle = async () => clock.pass(5);
  const restOfNext = async () => {
    await pace.wrote(mebibyte, settle, signal);
    return clock.slept.at(-1) ?? 0;
  };
  const first = await restOfNext();
  for (let turn = 0; turn < 4; turn += 1) await restOfNext();
  const pressed = await restOfNext();
  assert.ok(pressed > 2 * first, `${pressed} ms after ${first} ms`);
  others = 0;
  for (let turn = 0; turn < 30; turn += 1) await restOfNext();
  const relieved = await restOfNext();
  assert.ok(relieved < pressed / 2, `${relieved} ms after ${pressed} ms`);
});

test('a rest ends when the copy is stopped', async () => {
  const stop = new AbortController();
  stop.abort(new Error('stopped'));
  const pace = createPace({ clock: countingClock(), stalled: async () => 0 });
  await assert.rejects(
    pace.wrote(mebibyte, async () => {}, stop.signal),
    /stopped/,
  );
});
