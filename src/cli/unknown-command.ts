import { Command } from 'commander';
import type { CommandEntry } from './command-entry.ts';

/**
 * What to say of a first word that is no command: those that it may have been meant for, by its letters, or because
 * it stands below them (`status`).
 */
export async function unknownCommand(word: string, table: readonly CommandEntry[]): Promise<string> {
  const above = await commandsAbove(word, table);
  const similar = above.length === 0 ? similarTo(word, table) : '';
  const hint = above.length === 0 ? similar : `\n(Did you mean ${oneOf(above)}?)`;
  return `error: there is no command '${word}'${hint}\n  next: See all of them: sluice --help\n`;
}

/** The commands that have a subcommand of this name. */
async function commandsAbove(word: string, table: readonly CommandEntry[]): Promise<string[]> {
  const found: string[] = [];
  for (const entry of table) {
    const { commands } = (await entry.load()).command(table);
    if (commands.some((child) => child.name() === word || child.aliases().includes(word)))
      found.push(`${entry.name} ${word}`);
  }
  return found;
}

function oneOf(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `one of ${words.join(', ')}`;
}

/** The hint of the parser itself, so that it is the same as for words further on. */
function similarTo(word: string, table: readonly CommandEntry[]): string {
  let said = '';
  const names = new Command('sluice').exitOverride().configureOutput({
    writeErr: (text) => {
      said += text;
    },
  });
  for (const { name } of table) names.command(name);
  try {
    names.parse([word], { from: 'user' });
  } catch {
    // It says what it knows, and throws.
  }
  const hint = /\(Did you mean [^)]*\)/.exec(said);
  return hint === null ? '' : `\n${hint[0]}`;
}
