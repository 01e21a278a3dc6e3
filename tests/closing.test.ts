import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Closing } from './closing.ts';

test('every part ends, the last first, also beside one that fails and one that never does', async () => {
  const closing = new Closing();
  const ended: string[] = [];
  closing.add('first', () => ended.push('first'));
  closing.add('mute', () => new Promise(() => {}));
  closing.add('broken', () => {
    throw new Error('broken');
  });
  closing.add('last', async () => ended.push('last'));
  await assert.rejects(closing.close(20), (error: AggregateError) => {
    assert.deepEqual(
      error.errors.map((each: Error) => each.message),
      ['broken', 'mute does not end'],
    );
    return true;
  });
  assert.deepEqual(ended, ['last', 'first']);
  await closing.close(20); // Once.
  assert.equal(ended.length, 2);
});

test('a world that does not come up leaves nothing running', async () => {
  const closing = new Closing();
  let ended = 0;
  const bringUp = async () => {
    closing.add('part', () => {
      ended += 1;
    });
    throw new Error('half-way');
  };
  await assert.rejects(closing.unless(bringUp), /half-way/);
  assert.equal(ended, 1);
});
