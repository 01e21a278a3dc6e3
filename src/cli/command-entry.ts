import type { Command } from 'commander';
import type { CommandName } from './called.ts';

/** A command as the top-level help shows it; its own module is loaded only when it is called. */
export interface CommandEntry {
  readonly name: CommandName;
  readonly summary: string;
  readonly group: 'Prepare' | 'Bring in' | 'Update' | 'Nodes' | 'Run' | 'Help';
  /** The module's `command` gets the table: completion speaks of every command. */
  readonly load: () => Promise<{ command: (table: readonly CommandEntry[]) => Command }>;
}
