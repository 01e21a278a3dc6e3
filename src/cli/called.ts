/** Names of all commands: a table with any other would not compile. */
export const commandNames = [
  'bundle',
  'payload',
  'media',
  'release',
  'inventory',
  'preflight',
  'upgrade',
  'graph',
  'window',
  'node',
  'lock',
  'up',
  'cluster',
  'apiserver',
  'controller',
  'console',
  'registry',
  'licences',
  'gather',
  'completion',
] as const;

export type CommandName = (typeof commandNames)[number];

/**
 * The program as it was called: `sluice` where the path leads to it, else as the person typed it (`./sluice`). The
 * launcher says so, since the runtime knows only where the file lies.
 */
export function programName(environment: NodeJS.ProcessEnv = process.env): string {
  const called = environment.SLUICE_PROGRAM ?? '';
  // It is printed between other words: a name with blanks or worse would not be the command that it says.
  return /^[\w./+@~-]+$/.test(called) ? called : 'sluice';
}

const commands = new RegExp(
  `(^|[\\s"'\`(:])sluice(?= (?:${commandNames.join('|')}|--help|<command>)(?![\\w-]))`,
  'g',
);

/** Text for a person, with the commands in it as he can type them. */
export function asCalled(text: string, name: string = programName()): string {
  return name === 'sluice' ? text : text.replace(commands, (_, before: string) => before + name);
}
