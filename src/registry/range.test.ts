import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readRange } from './range.ts';

const ask = (header: string | undefined, size = 100, ifRange?: string) =>
  readRange(header, ifRange, '"e"', size);

test('one range of bytes is answered as RFC 9110 says', () => {
  assert.deepEqual(ask(undefined), { kind: 'whole' });
  assert.deepEqual(ask('bytes=0-'), { kind: 'part', offset: 0, end: 100 });
  assert.deepEqual(ask('bytes=10-19'), { kind: 'part', offset: 10, end: 20 });
  assert.deepEqual(ask('bytes=90-1000'), { kind: 'part', offset: 90, end: 100 });
  assert.deepEqual(ask('bytes=-10'), { kind: 'part', offset: 90, end: 100 });
  assert.deepEqual(ask('bytes=-1000'), { kind: 'part', offset: 0, end: 100 });
  assert.deepEqual(ask('bytes=99-99'), { kind: 'part', offset: 99, end: 100 });
});

test('C10 what starts at the end or behind it cannot be satisfied', () => {
  for (const [header, size] of [
    ['bytes=100-', 100],
    ['bytes=5000-', 100],
    ['bytes=-0', 100],
    ['bytes=0-', 0],
    ['bytes=-1', 0],
  ] as const) {
    assert.deepEqual(ask(header, size), { kind: 'unsatisfiable' }, header);
  }
});

test('what is nonsense, several ranges, or for another version of the content gets the whole', () => {
  for (const header of [
    'bytes=',
    'bytes=-',
    'bytes=20-10',
    'bytes=a-b',
    'bytes=0-1,3-4',
    'lines=0-1',
    'bytes=9999999999999999-',
  ]) {
    assert.deepEqual(ask(header), { kind: 'whole' }, header);
  }
  assert.deepEqual(ask('bytes=1-2', 100, '"other"'), { kind: 'whole' });
  assert.deepEqual(ask('bytes=1-2', 100, '"e"'), { kind: 'part', offset: 1, end: 3 });
});

test('a part always lies within the content and is never empty', () => {
  const header = fc.oneof(
    fc.string(),
    fc.tuple(fc.nat(300), fc.nat(300)).map(([first, last]) => `bytes=${first}-${last}`),
    fc.nat(300).map((suffix) => `bytes=-${suffix}`),
  );
  fc.assert(
    fc.property(header, fc.nat(200), (text, size) => {
      const answer = ask(text, size);
      if (answer.kind === 'part')
        assert.ok(answer.offset >= 0 && answer.offset < answer.end && answer.end <= size);
    }),
  );
});
