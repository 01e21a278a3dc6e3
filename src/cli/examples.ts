import type { EventEmitter } from 'node:events';
import type { Command } from 'commander';

/** Text that a command adds below its help. */
function addedHelp(command: Command): string {
  let text = '';
  const write = (part: string) => {
    text += part;
  };
  // What addHelpText adds listens to this; the types leave out that a command is an emitter.
  (command as unknown as EventEmitter).emit('afterHelp', { error: false, command, write });
  return text;
}

/** Examples in a help text, each with the lines that a backslash continues it on. */
function examplesIn(text: string): string[] {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => /^Examples?:$/.test(line));
  if (start === -1) return [];
  const found: string[] = [];
  for (const line of lines.slice(start + 1)) {
    if (found.at(-1)?.endsWith('\\') === true) found.push(`${found.pop()}\n${line}`);
    else if (/^ {2}\S/.test(line)) found.push(line);
    else if (line.trim() !== '') break;
  }
  return found;
}

/** The examples that a command shows, its own and those that were spread to it. */
export function examplesOf(command: Command): string[] {
  return examplesIn(addedHelp(command));
}

/**
 * Gives each subcommand that has no examples of its own those above it that are about it, so that they stand in one
 * place and are shown wherever they help.
 *
 * @param path words before the name of the command's children, such as `sluice upgrade`.
 */
export function spreadExamples(command: Command, path: string, above: readonly string[] = []): void {
  const examples = [...examplesOf(command), ...above];
  for (const child of command.commands) {
    const words = `${path} ${child.name()}`;
    const own = examples.filter((example) => mentions(example, words));
    if (examplesOf(child).length === 0 && own.length > 0) {
      child.addHelpText('after', `\nExamples:\n${own.join('\n')}`);
    }
    spreadExamples(child, words, own);
  }
}

function mentions(example: string, words: string): boolean {
  const at = example.indexOf(words);
  return at !== -1 && /^(?:\s|$)/.test(example.slice(at + words.length));
}
