import { programBuild } from '../program/build.ts';
import { shimCommand } from '../program/self.ts';
import { asCalled } from './called.ts';
import type { CommandEntry } from './command-entry.ts';
import { commandTable } from './commands.ts';

const examples = `Examples:
  sluice bundle verify /media/usb --key sluice.pub      Is this disk whole, and by whom is it signed?
  sluice media attach /media/usb --node master-0        Let the cluster see it
  sluice upgrade --to 1.1.0 --dry-run                   Would the update work? Nothing is changed
  sluice release add 1.1.0                              Copy it to every control-plane node
  sluice upgrade --to 1.1.0                             Update
  sluice node why master-0                              Why does this node not reboot yet?`;

/** The top-level help, from the table alone: no command's module is loaded for it. */
async function topHelp(): Promise<string> {
  const { styleText } = await import('node:util');
  const bold = (text: string) => styleText('bold', text, { stream: process.stdout });
  const width = Math.max(...commandTable.map((entry) => entry.name.length)) + 2;
  const groups = new Map<string, CommandEntry[]>();
  for (const entry of commandTable) groups.set(entry.group, [...(groups.get(entry.group) ?? []), entry]);
  const sections = [...groups].map(
    ([group, entries]) =>
      `${bold(`${group}:`)}\n${entries.map((entry) => `  ${entry.name.padEnd(width)}${entry.summary}`).join('\n')}`,
  );
  return [
    'Sluice updates clusters that have no internet: a signed release comes on a disk, is checked against this',
    'cluster, copied to its nodes, and each node reboots into it only when its owners allow.',
    '',
    `${bold('Usage:')} sluice <command> [options]      sluice <command> --help`,
    '',
    sections.join('\n\n'),
    '',
    examples,
    '',
    'Exit codes: 0 done, 1 failed, 2 usage, 3 blocked by a finding, 4 done with accepted risks (--detailed-exitcode),',
    '5 could not be completed, 6 verification failed.',
    '',
  ].join('\n');
}

async function main(argv: string[]): Promise<number> {
  // Flushing a file holds a thread of libuv's pool until the disk has answered: of the four that it has by default none
  // would be left to read and write while a copy flushes. It is read once, when the first thread is needed.
  process.env.UV_THREADPOOL_SIZE ??= '8';
  let [name, ...rest] = argv;
  if (name === undefined || name === '--help' || name === '-h') {
    process.stdout.write(asCalled(await topHelp()));
    return name === undefined ? 2 : 0;
  }
  if (name === '--version' || name === '-V' || name === 'version') {
    return printVersion(rest);
  }
  if (name === 'help') {
    [name, ...rest] = [...rest, '--help'];
    if (name === '--help' || name === undefined) {
      process.stdout.write(asCalled(await topHelp()));
      return 0;
    }
  }
  if (name === shimCommand) {
    const { superviseContainer } = await import('../workload/sandbox-shim.ts');
    return await superviseContainer(rest[0] ?? '');
  }
  const entry = commandTable.find((candidate) => candidate.name === name);
  if (entry === undefined) {
    const { unknownCommand } = await import('./unknown-command.ts');
    process.stderr.write(asCalled(await unknownCommand(name, commandTable)));
    return 2;
  }
  const { runCommand } = await import('./run.ts');
  return await runCommand(entry, rest, commandTable);
}

/** `--version [-o json]` */
function printVersion(rest: readonly string[]): number {
  const { version, commit } = programBuild();
  const format = rest.length === 0 ? 'text' : rest.join('=').replace(/^(?:-o|--output)=?/, '');
  switch (format) {
    case 'text':
      process.stdout.write(`sluice ${version} (commit ${commit.replace(/^(\w{12})\w*/, '$1')})\n`);
      return 0;
    case 'json': {
      const runtime = `node ${process.versions.node}`;
      const platform = `${process.platform}/${process.arch}`;
      process.stdout.write(`${JSON.stringify({ version, commit, runtime, platform }, null, 2)}\n`);
      return 0;
    }
    default:
      process.stderr.write(`error: 'sluice --version' takes -o json, not '${rest.join(' ')}'\n`);
      return 2;
  }
}

// No await at the top: the single file is a script of the older kind, which has none.
void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
