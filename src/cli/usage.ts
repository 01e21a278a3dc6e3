import type { Argument, Command } from 'commander';
import { examplesOf } from './examples.ts';

/** Options that a command cannot do without are part of how it is used, not of what may be added. */
export function showRequired(command: Command): void {
  const required = command.options.filter((option) => option.mandatory).map((option) => ` ${option.flags}`);
  if (required.length === 0) return;
  const given = command.registeredArguments.map((argument) => ` ${shownArgument(argument)}`);
  command.usage(`[options]${required.join('')}${given.join('')}`);
}

function shownArgument(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

/** How a command is used, in one line, an example of it, and where more stands: below what was wrong with its words. */
export function usageLines(command: Command): string[] {
  const usage = command.createHelp().commandUsage(command);
  const [example] = examplesOf(command);
  return [
    `  usage: ${usage}`,
    ...(example === undefined ? [] : [`  example: ${plainExample(example)}`]),
    `  next: See what it takes: ${pathOf(command)} --help`,
  ];
}

/** An example in one line, without the words that explain it. */
function plainExample(example: string): string {
  const [plain = ''] = example
    .trim()
    .replace(/\s*\\\n\s*/g, ' ')
    .split(/ {2,}/);
  return plain;
}

function pathOf(command: Command): string {
  const above = command.parent === null ? '' : `${pathOf(command.parent)} `;
  return `${above}${command.name()}`;
}

/** The parser's words about what is missing, with what that is. */
export function explainMissing(command: Command, text: string): string {
  const argument = /missing required argument '([^']+)'/.exec(text)?.[1];
  const option = /required option '([^']+)' not specified/.exec(text)?.[1];
  const about =
    command.registeredArguments.find((each) => each.name() === argument)?.description ??
    command.options.find((each) => each.flags === option)?.description ??
    '';
  return about === '' ? text : `${text.trimEnd()}: ${about}\n`;
}

/** Said below the help of a command that was called without any of those below it. */
export function missingCommand(command: Command): string {
  const names = command.commands.map((child) => child.name()).filter((name) => name !== 'help');
  return `\nerror: a command is missing after '${pathOf(command)}': ${names.join(', ')}`;
}
