import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandTable } from './commands.ts';
import { unknownCommand } from './unknown-command.ts';

test('a word that is no command: the one that was probably meant, or those that it stands below', async () => {
  const hints: Readonly<Record<string, RegExp>> = {
    upgade:
      /there is no command 'upgade'\n\(Did you mean upgrade\?\)\n {2}next: See all of them: sluice --help\n$/,
    realese: /\(Did you mean release\?\)/,
    status: /\(Did you mean one of release status, upgrade status, window status, node status, up status\?\)/,
    attach: /\(Did you mean media attach\?\)/,
    zzzz: /^error: there is no command 'zzzz'\n {2}next: /,
  };
  for (const [word, hint] of Object.entries(hints))
    assert.match(await unknownCommand(word, commandTable), hint);
});
