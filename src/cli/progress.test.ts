import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProgress } from './progress.ts';

const mib = 1024 * 1024;

/** What is drawn for one row that is seen at these times (milliseconds) with these bytes and rates. */
function drawn(
  isTTY: boolean,
  seen: readonly (readonly [at: number, done: number, rate: number])[],
): string[] {
  let at = 0;
  const written: string[] = [];
  const stream = { isTTY, columns: 120, write: (text: string) => written.push(text.trimEnd()) };
  const progress = createProgress({ stream: stream as unknown as NodeJS.WriteStream, now: () => at });
  for (const [time, done, rate] of seen) {
    at = time;
    progress.update([{ label: 'master-0', done, total: 100 * mib, rate }]);
  }
  return written;
}

test('no time is left to tell while the rate is not settled: at the start, and in a moment that stands still', () => {
  const lines = drawn(true, [
    [0, 0, 1],
    [4000, 40 * mib, 10 * mib],
    [6000, 60 * mib, 10 * mib],
    [8000, 99 * mib, 1800],
  ]);
  assert.deepEqual(
    lines.map((line) => / left$/.test(line)),
    [false, false, true, false],
  );
  assert.match(lines[2] ?? '', /10\.0 MiB\/s {2}4s left$/);
  assert.match(lines[3] ?? '', /KiB\/s$/);
});

test('the same on plain lines', () => {
  const lines = drawn(false, [
    [0, 0, 1],
    [5000, 50 * mib, 10 * mib],
    [10_000, 99 * mib, 1800],
  ]);
  assert.deepEqual(
    lines.map((line) => / left$/.test(line)),
    [true, false],
  );
});
