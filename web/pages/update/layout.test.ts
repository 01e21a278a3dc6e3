import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placesOf } from './layout.ts';

const at = (versions: string[], edges: [string, string][]) =>
  Object.fromEntries(
    placesOf(
      versions,
      edges.map(([from, to]) => ({ from, to })),
    ).map(({ version, column, row }) => [version, `${column}/${row}`]),
  );

test('every way leads to the right, also where a shorter one exists', () => {
  const places = at(
    ['1.2.0', '1.0.0', '1.1.0', '1.1.1'],
    [
      ['1.0.0', '1.1.0'],
      ['1.0.0', '1.2.0'],
      ['1.1.0', '1.2.0'],
      ['1.0.0', '1.1.1'],
    ],
  );
  assert.deepEqual(places, { '1.0.0': '0/0', '1.1.0': '1/0', '1.1.1': '1/1', '1.2.0': '2/0' });
});

test('versions without a way stand in the first column', () => {
  assert.deepEqual(at(['2.0.0', '1.0.0'], []), { '1.0.0': '0/0', '2.0.0': '0/1' });
});

test('a circle ends', () => {
  const places = at(
    ['1.0.0', '1.1.0'],
    [
      ['1.0.0', '1.1.0'],
      ['1.1.0', '1.0.0'],
    ],
  );
  assert.equal(Object.keys(places).length, 2);
});
