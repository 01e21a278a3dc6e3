import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSluiceError } from '../errors/error.ts';
import { askForLink } from './link.ts';

test('where no console listens, it is the console that is missed', async () => {
  await assert.rejects(askForLink('/nowhere/console.sock'), (error: unknown) => {
    assert.ok(isSluiceError(error, 'Unreachable'));
    assert.match(error.message, /no console listens on \/nowhere\/console\.sock/);
    assert.match(error.next, /sluice console.*--socket FILE/);
    return true;
  });
});
