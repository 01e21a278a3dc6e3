import { Command, CommanderError } from 'commander';
import { type ErrorCode, errorTable, messageOf, SluiceError, systemCode } from '../errors/error.ts';
import { asCalled, programName } from './called.ts';
import type { CommandEntry } from './command-entry.ts';
import { spreadExamples } from './examples.ts';
import { formatFlag, note, parseFormat } from './output.ts';
import { explainMissing, missingCommand, showRequired, usageLines } from './usage.ts';

/**
 * Loads a command, runs it and turns whatever it throws into one plain message and an exit code. A command that
 * ends with an exit code of its own (3: blocked) sets `process.exitCode`.
 */
export async function runCommand(
  entry: CommandEntry,
  args: readonly string[],
  table: readonly CommandEntry[],
): Promise<number> {
  // A reader that went away (`| head`) is no error of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
  });
  let acting: Command | undefined;
  try {
    const { command } = await entry.load();
    const root = command(table);
    root.name(`${programName()} ${entry.name}`);
    spreadExamples(root, `sluice ${entry.name}`);
    forEachCommand(root, (each) => {
      showRequired(each);
      each.exitOverride().showHelpAfterError(usageLines(each).join('\n')).allowExcessArguments(false);
      if (each.commands.length > 0) {
        each.addHelpText('after', ({ error }) => (error ? missingCommand(each) : ''));
      }
      each.configureOutput({
        outputError: (text, write) => write(explainMissing(each, text)),
        writeOut: (text) => process.stdout.write(asCalled(text)),
        writeErr: (text) => process.stderr.write(asCalled(text)),
      });
      refuseRepeated(each);
      each.configureHelp({ helpWidth: process.stdout.columns ?? 110 });
      if (each.commands.length > 0 && each.registeredArguments.length === 0) refuseUnknownWord(each);
    });
    root.hook('preAction', (_, action) => {
      acting = action;
      judgeFormat(action);
    });
    await root.parseAsync([...args], { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    return report(error, acting);
  }
}

/** What the operating system refuses is no defect of ours, and has a remedy of its own. */
const systemErrors: Readonly<Record<string, { code: ErrorCode; next: string }>> = {
  EACCES: { code: 'Forbidden', next: 'Run it as a user who may, for instance as root.' },
  EPERM: { code: 'Forbidden', next: 'Run it as a user who may, for instance as root.' },
  ENOENT: { code: 'NotFound', next: 'Correct the path, then run it again: nothing is there.' },
  ENOTDIR: {
    code: 'NotFound',
    next: 'Correct the path, then run it again: a part of it is not a directory.',
  },
  EISDIR: { code: 'InputInvalid', next: 'Give a file, not a directory.' },
  ENOSPC: { code: 'DiskFull', next: 'Free space on that disk, then run it again.' },
};

/**
 * A word after a command that has an action of its own is a subcommand that does not exist, not an argument too many:
 * it is judged as of a command that has nothing but subcommands, with the hint at what was probably meant.
 */
function refuseUnknownWord(command: Command): void {
  command.allowExcessArguments(true);
  command.hook('preAction', (_, action) => {
    if (action !== command || command.args.length === 0) return;
    const names = new Command(command.name()).copyInheritedSettings(command);
    for (const child of command.commands) names.command(child.name());
    names.parse(command.args, { from: 'user' });
  });
}

/**
 * The parser keeps the last of two values: what somebody gave first would be dropped without a word. Lists, and options
 * that read their own values, gather what is given. What the option takes is said, since it may be several in one word.
 */
function refuseRepeated(command: Command): void {
  for (const option of command.options) {
    const takesValue = option.required || option.optional;
    if (!takesValue || option.variadic || option.parseArg !== undefined) continue;
    const given: string[] = [];
    command.on(`option:${option.name()}`, (value: string | null) => {
      given.push(value ?? '');
      if (given.length < 2) return;
      command.error(
        `error: option '${option.flags}' takes one value and is given twice (${given.join(', ')}): ${option.description}`,
      );
    });
  }
}

/** A word that is no format is the person's mistake, whatever the command would have met before it answers. */
function judgeFormat(action: Command): void {
  const option = action.options.find((each) => each.flags === formatFlag);
  // A command above it may have the option too, and takes the word then.
  if (option !== undefined) parseFormat(action.optsWithGlobals()[option.attributeName()]);
}

function forEachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) forEachCommand(child, visit);
}

/** Prints what went wrong and what to do; the exit code that belongs to it. */
function report(error: unknown, acting: Command | undefined): number {
  if (error instanceof CommanderError) {
    if (error.code === 'commander.help') return 2; // Called without a subcommand: the help was printed.
    return error.exitCode === 0 ? 0 : 2;
  }
  if (error instanceof SluiceError) {
    // Where nothing better is known than the help, how the command is used stands at once below it.
    const isBare = error.code === 'Usage' && error.next === errorTable.Usage.next;
    if (isBare && acting !== undefined) note([`error: ${error.message}`, ...usageLines(acting)].join('\n'));
    else note(`error: ${error.message}${error.next === '' ? '' : `\n  next: ${error.next}`}`);
    if (process.env.SLUICE_LOG === 'debug') process.stderr.write(`${error.stack}\n`);
    return errorTable[error.code].exit;
  }
  const system = systemErrors[systemCode(error) ?? ''];
  if (system !== undefined) {
    note(`error: ${messageOf(error)}\n  next: ${system.next}`);
    return errorTable[system.code].exit;
  }
  const detail =
    process.env.SLUICE_LOG === 'debug' && error instanceof Error ? error.stack : messageOf(error);
  note(`error: ${detail}\n  next: ${errorTable.Internal.next}`);
  return 1;
}
