import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listPage, pageOf } from './page.ts';

const all = ['a', 'b', 'c', 'd'];

test('pages follow each other by the last entry, until there is no more', () => {
  assert.deepEqual(listPage(all, { n: undefined, last: undefined }), { items: all });
  assert.deepEqual(listPage(all, { n: 3, last: undefined }), { items: ['a', 'b', 'c'], next: 'n=3&last=c' });
  assert.deepEqual(listPage(all, { n: 3, last: 'c' }), { items: ['d'] });
  assert.deepEqual(listPage(all, { n: 4, last: undefined }), { items: all });
  assert.deepEqual(listPage(all, { n: 2, last: 'bb' }), { items: ['c', 'd'] }); // `last` need not exist.
  assert.deepEqual(listPage(all, { n: 0, last: undefined }), { items: [] });
  assert.deepEqual(listPage([], { n: 5, last: 'x' }), { items: [] });
});

test('n must be a whole number', () => {
  assert.deepEqual(pageOf(new URLSearchParams('n=2&last=x')), { n: 2, last: 'x' });
  assert.deepEqual(pageOf(new URLSearchParams('')), { n: undefined, last: undefined });
  for (const wrong of ['n=-1', 'n=x', 'n=1.5', 'n=', 'n=99999999999'])
    assert.equal(pageOf(new URLSearchParams(wrong)), undefined, wrong);
});
