import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import { commandTable } from './commands.ts';
import { spreadExamples } from './examples.ts';

/** The whole help of a command, as it is printed. */
function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  return text;
}

test('a subcommand shows the examples above it that are about it, whole', () => {
  const root = new Command('fruit').addHelpText(
    'after',
    '\nWords.\n\nExamples:\n  sluice fruit peel A      Peels it\n  sluice fruit peeler\n  x | sluice fruit peel \\\n      --thin\n\nMore.',
  );
  const peel = root.command('peel');
  const own = root.command('eat').addHelpText('after', '\nExample:\n  sluice fruit eat');
  spreadExamples(root, 'sluice fruit');
  assert.match(
    helpOf(peel),
    /\nExamples:\n {2}sluice fruit peel A {6}Peels it\n {2}x \| sluice fruit peel \\\n {6}--thin\n$/,
  );
  assert.match(helpOf(own), /\nExample:\n {2}sluice fruit eat\n$/);
});

for (const entry of commandTable) {
  test(`every command of ${entry.name} shows how it is used`, async () => {
    const root = (await entry.load()).command(commandTable);
    root.name(`sluice ${entry.name}`);
    spreadExamples(root, `sluice ${entry.name}`);
    const walk = (command: Command, path: string) => {
      assert.match(helpOf(command), /^Examples?:$/m, path);
      for (const child of command.commands) walk(child, `${path} ${child.name()}`);
    };
    walk(root, `sluice ${entry.name}`);
  });
}
