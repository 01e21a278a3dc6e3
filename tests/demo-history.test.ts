import assert from 'node:assert/strict';
import { test } from 'node:test';
import { historyLine } from '../demo/stage.ts';

test('an update of the history that goes on has no end yet', () => {
  const entry = { version: '1.1.0', state: 'Partial', startedTime: 'a', completionTime: null };
  assert.equal(historyLine(entry), '1.1.0  Partial  since a');
  assert.equal(historyLine({ ...entry, state: 'Completed', completionTime: 'b' }), '1.1.0  Completed  a – b');
});
