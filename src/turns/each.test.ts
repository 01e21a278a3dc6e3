import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachInTurn } from './each.ts';

const never = new AbortController().signal;
const moment = () => new Promise((resolve) => setImmediate(resolve));

test('every item has its turn, in their order, so many at a time', async () => {
  const begun: number[] = [];
  let running = 0;
  let most = 0;
  await eachInTurn([1, 2, 3, 4, 5, 6, 7], 3, never, async (item) => {
    begun.push(item);
    running += 1;
    most = Math.max(most, running);
    await moment();
    running -= 1;
  });
  assert.deepEqual(begun, [1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual([most, running], [3, 0]);
});

test('the first that fails ends it: nothing more begins, and what was begun has ended before the error comes', async () => {
  const ended: number[] = [];
  const act = async (item: number) => {
    for (let moments = 0; moments < (item === 2 ? 1 : 5); moments += 1) await moment();
    ended.push(item);
    if (item <= 2) throw new Error(`${item} fails`);
  };
  await assert.rejects(eachInTurn([1, 2, 3, 4, 5, 6], 3, never, act), /^Error: 2 fails$/);
  assert.deepEqual(ended.sort(), [1, 2, 3]);
});

test('a signal ends it in the same way', async () => {
  const stop = new AbortController();
  const ended: number[] = [];
  const act = async (item: number) => {
    await moment();
    if (item === 1) stop.abort(new Error('stopped'));
    await moment();
    ended.push(item);
  };
  await assert.rejects(eachInTurn([1, 2, 3, 4], 2, stop.signal, act), /stopped/);
  assert.deepEqual(ended.sort(), [1, 2]);
});
