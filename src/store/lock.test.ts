import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPublishLock } from './lock.ts';

test('many publish at once, one removes alone, and a failure holds nobody', async () => {
  const lock = createPublishLock();
  const log: string[] = [];
  const step = (name: string) => async () => {
    log.push(`${name} begins`);
    await new Promise((resolve) => setImmediate(resolve));
    log.push(`${name} ends`);
  };
  const failing = lock.shared(() => Promise.reject(new Error('no')));
  const all = [
    lock.shared(step('a')),
    lock.shared(step('b')),
    lock.alone(step('removal')),
    lock.shared(step('c')),
  ];
  await assert.rejects(failing, /no/);
  await Promise.all(all);
  assert.deepEqual(log, [
    'a begins',
    'b begins',
    'a ends',
    'b ends',
    'removal begins',
    'removal ends',
    'c begins',
    'c ends',
  ]);
  await assert.rejects(
    lock.alone(() => Promise.reject(new Error('no'))),
    /no/,
  );
  await lock.shared(step('d'));
  assert.equal(log.at(-1), 'd ends');
});
