import { Command, type Option } from 'commander';
import { SluiceError } from '../errors/error.ts';
import type { CommandEntry } from './command-entry.ts';
import { type Continuation, type NameKind, nameKinds, scripts } from './completion-scripts.ts';
import { connect } from './connect.ts';
import { formatFlag, formats } from './output.ts';

/** `sluice completion bash|zsh|fish`, and `completion names KIND`, which the scripts ask. */
export function command(table: readonly CommandEntry[]): Command {
  return new Command()
    .description('Print the completion script of a shell; it completes names of the cluster too')
    .argument('<shell>', 'bash, zsh or fish')
    .argument('[kind]', 'for the scripts: after the word names, which names of the cluster are wanted')
    .addHelpText(
      'after',
      `
Names of releases, versions, nodes, preflights, reports and risks are asked of the cluster that KUBECONFIG leads to.

Examples:
  sluice completion bash > /etc/bash_completion.d/sluice
  source <(sluice completion zsh)
  sluice completion fish > ~/.config/fish/completions/sluice.fish`,
    )
    .action(async (shell: string, kind: string | undefined) => {
      if (shell === 'names') return await printNames(kind);
      const script = scripts[shell];
      if (script === undefined) {
        throw new SluiceError('Usage', `no completion for the shell '${shell}'`, {
          next: `Use one of: ${Object.keys(scripts).join(', ')}.`,
        });
      }
      // A script is data: nothing in it is shown as the program was called.
      process.stdout.write(`${script(await continuations(table))}\n`);
    });
}

/** What may follow each command, read from the commands themselves. */
async function continuations(table: readonly CommandEntry[]): Promise<Continuation[]> {
  const all: Continuation[] = [{ path: '', words: table.map((entry) => entry.name), values: [], asks: [] }];
  const walk = (command: Command, path: string) => {
    const fixed = path === 'completion' ? ['bash', 'zsh', 'fish'] : [];
    const children = command.commands.map((child) => child.name()).filter((name) => name !== 'help');
    const options = command.options.flatMap((option) => (option.long === undefined ? [] : [option.long]));
    const names = namesOf(path, command);
    all.push({
      path,
      words: [...fixed, ...children, ...new Set([...options, '--help'])],
      values: command.options.flatMap((option) => valuesOf(path, option)),
      asks: command.options.flatMap((option) => asksOf(path, option)),
      ...(names === undefined ? {} : { names }),
    });
    for (const child of command.commands) if (child.name() !== 'help') walk(child, `${path} ${child.name()}`);
  };
  for (const entry of table) walk((await entry.load()).command(table), entry.name);
  return all;
}

/** The words of which an option takes one, where they are known. */
function valuesOf(path: string, { short, long, flags, argChoices }: Option): Continuation['values'] {
  const counts = path === 'up' && long === '--nodes' ? nodeCounts : [];
  const words = argChoices ?? (flags === formatFlag ? formats : counts);
  const options = [short, long].filter((each) => each !== undefined);
  return words.length === 0 ? [] : [{ options, words }];
}

/** How many nodes a rehearsal is run with, as a rule. */
const nodeCounts = ['1', '3', '5'];

/** Flags of options whose value names something of the cluster. The same word may mean a number or a directory elsewhere. */
const namesByFlags: Readonly<Record<string, NameKind>> = {
  '--to <version>': 'version',
  '--version <version>': 'version',
  '--node <name>': 'node',
  '--nodes <which>': 'node',
  '--accept <names...>': 'risk',
};

function asksOf(path: string, { long, flags }: Option): Continuation['asks'] {
  const names = namesByFlags[flags];
  // A payload is built of a version that is nowhere yet, and a check is tried without a cluster.
  if (names === undefined || path === 'payload build' || path === 'preflight try') return [];
  return [{ option: long ?? '', names }];
}

/** What the first argument of a command names. */
function namesOf(path: string, command: Command): NameKind | undefined {
  const [argument] = command.registeredArguments.map((each) => each.name());
  if (path === 'upgrade accept') return 'risk';
  if (path === 'upgrade report show') return 'report';
  if (path === 'preflight show') return 'preflight';
  if (path === 'node approve') return undefined;
  return argument === 'release' || argument === 'node' ? argument : undefined;
}

/** Milliseconds that a shell may wait for names before it goes on without them. */
const patienceMs = 3000;

/** Names in the cluster, one a line; nothing where it cannot be asked: a shell completes, it does not explain. */
async function printNames(kind: string | undefined): Promise<void> {
  const wanted = nameKinds.find((each) => each === kind);
  if (wanted === undefined) {
    throw new SluiceError('Usage', `names of '${kind ?? ''}' are not known`, {
      next: `Use one of: ${nameKinds.join(', ')}.`,
    });
  }
  const late = setTimeout(() => process.exit(0), patienceMs);
  try {
    const client = await connect({});
    try {
      const { clusterNames } = await import('./completion-names.ts');
      const found = await clusterNames(client, wanted);
      if (found.length > 0) process.stdout.write(`${[...new Set(found)].sort().join('\n')}\n`);
    } finally {
      await client.close();
    }
  } catch {
    // No cluster, no names.
  } finally {
    clearTimeout(late);
  }
}
