import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Background } from './background.ts';

test('P-48 a slow read holds no turn: it is pending until it has ended, and is not begun twice', async () => {
  const background = new Background<string>(10);
  const slow = Promise.withResolvers<string>();
  let begun = 0;
  const read = async () => {
    begun += 1;
    return await slow.promise;
  };
  assert.deepEqual(await background.of('a', read), { state: 'pending' });
  assert.deepEqual(await background.of('a', read), { state: 'pending' });
  assert.equal(begun, 1);
  slow.resolve('here');
  assert.deepEqual(await background.of('a', read), { state: 'done', value: 'here' });
});

test('P-50 a failure is told once, and the next look begins anew; so does another key', async () => {
  const background = new Background<string>(10);
  const failing = await background.of('a', async () => {
    throw new Error('no');
  });
  assert.equal(failing.state, 'failed');
  assert.deepEqual(await background.of('a', async () => 'yes'), { state: 'done', value: 'yes' });
  await background.of('a', () => new Promise(() => {}));
  assert.deepEqual(await background.of('b', async () => 'other'), { state: 'done', value: 'other' });
});
