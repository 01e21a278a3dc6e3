import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimNetwork, freePort } from './network.ts';

test('two clusters that start at once take two networks, and one that comes back its own', async () => {
  const port = await freePort();
  const [first, second] = await Promise.all([claimNetwork(port, undefined), claimNetwork(port, undefined)]);
  assert.notEqual(first.number, second.number);
  await second.release();
  const again = await claimNetwork(port, second.number);
  assert.equal(again.number, second.number);
  await Promise.all([first.release(), again.release()]);
});
