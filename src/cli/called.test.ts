import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asCalled, commandNames, programName } from './called.ts';
import { commandTable } from './commands.ts';

test('commands in a text are shown as the program was called', () => {
  const text =
    'next: sluice upgrade clear; see (sluice node why) or `sluice media attach PATH`\n  sluice --help';
  assert.equal(
    asCalled(text, './sluice'),
    'next: ./sluice upgrade clear; see (./sluice node why) or `./sluice media attach PATH`\n  ./sluice --help',
  );
  assert.equal(asCalled(text, 'sluice'), text);
});

test('what only looks like a command stays', () => {
  for (const text of [
    'sluice upgrades it',
    'the sluice is open',
    '/usr/bin/sluice upgrade',
    'a-sluice node',
    'sluice 0.1.0',
  ]) {
    assert.equal(asCalled(text, './sluice'), text);
  }
});

test('every command that is known is in the table', () => {
  assert.deepEqual(commandTable.map((entry) => entry.name).sort(), [...commandNames].sort());
});

test('the name comes from the launcher, where it can be typed', () => {
  assert.equal(programName({}), 'sluice');
  assert.equal(programName({ SLUICE_PROGRAM: './sluice' }), './sluice');
  assert.equal(programName({ SLUICE_PROGRAM: '/opt/my dir/sluice' }), 'sluice');
});
