import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyMessage } from './progress.ts';

const gib = 1024 ** 3;

test('progress is one rounded sentence over all nodes', () => {
  const copy = (done: number) => ({ state: 'Copying' as const, bytesDone: done * gib, bytesTotal: gib });
  assert.equal(
    copyMessage([copy(0.5), copy(0.5), copy(0.4)], { held: 0, nodes: 3 }),
    'Copying to 3 of 3 nodes: 46% (1.4 GiB of 3.0 GiB)',
  );
});

test('the same percent is the same text, so that a status is not written for each chunk', () => {
  const at = (bytesDone: number) =>
    copyMessage([{ state: 'Copying', bytesDone, bytesTotal: 1000 }], { held: 1, nodes: 2 });
  assert.equal(at(501), at(509));
  assert.notEqual(at(501), at(530));
});

test('a paused copy says why', () => {
  const message = 'the media on master-0 are gone';
  assert.equal(
    copyMessage([{ state: 'Paused', bytesDone: 50, bytesTotal: 100, message }], { held: 1, nodes: 3 }),
    `Paused at 50% (150 B of 300 B); held by 1; ${message}`,
  );
});

test('it never runs backwards: not when a node begins, verifies or ends', () => {
  const of = (state: 'Copying' | 'Verifying', bytesDone: number) => ({ state, bytesDone, bytesTotal: 100 });
  const percents = [
    copyMessage([of('Copying', 60)], { held: 0, nodes: 3 }),
    copyMessage([of('Copying', 90), of('Copying', 0)], { held: 0, nodes: 3 }),
    copyMessage([of('Verifying', 0), of('Copying', 40), of('Copying', 0)], { held: 0, nodes: 3 }),
    copyMessage([of('Copying', 50), of('Copying', 20)], { held: 1, nodes: 3 }),
    copyMessage([of('Copying', 60)], { held: 2, nodes: 3 }),
  ].map((text) => Number(/(\d+)%/.exec(text)?.[1]));
  assert.deepEqual(percents, [20, 30, 46, 56, 86]);
});

test('a total of nothing is no division', () => {
  assert.match(
    copyMessage([{ state: 'Verifying', bytesDone: 0, bytesTotal: 0 }], { held: 0, nodes: 1 }),
    /^Verifying on 1 of 1 nodes: 0%/,
  );
});
