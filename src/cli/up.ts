import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { SluiceError } from '../errors/error.ts';
import { shellWord } from '../process/shell.ts';
import type { UpLayout } from '../up/layout.ts';
import type { UpState } from '../up/state.ts';
import { formatFlag, formatHelp, note, parseFormat, print, printObject } from './output.ts';
import {
  clusterPlaces,
  findUpDirectories,
  nextWithoutDirectory,
  upDirectoryDefault,
} from './up-directory.ts';

interface UpCommandOptions {
  readonly dir?: string;
  readonly release?: string;
  readonly key?: string[];
  readonly nodes: string;
  readonly workload: 'auto' | 'podman' | 'sandbox' | 'none';
  readonly output?: string;
}

/** `sluice up`, `up status`, `up stop`. */
export function command(): Command {
  const root = new Command()
    .description('Run a whole cluster on this machine, to rehearse an update')
    .option(
      '--dir <dir>',
      `where everything of it is kept: at the first start empty or not there yet (default: ${upDirectoryDefault}; status and stop: that of KUBECONFIG)`,
    )
    .option(
      '--release <media>',
      'the signed bundle that it is installed with, at the first start (directory, ISO or tar)',
    )
    .option('--key <file...>', 'public keys whose bundles are trusted')
    .option('--nodes <count>', 'control-plane nodes', '3')
    .addOption(
      new Option('--workload <runner>', 'what runs Pods')
        .choices(['auto', 'podman', 'sandbox', 'none'])
        .default('auto'),
    )
    .action(start);
  root
    .command('status')
    .description('What runs, and where')
    .option(formatFlag, formatHelp)
    .action((_, command: Command) => status(command.optsWithGlobals()));
  root
    .command('stop')
    .description('End it, or what is left of one that was killed; what is on the disk stays')
    .action((_, command: Command) => stop(command.optsWithGlobals()));
  root.addHelpText(
    'after',
    `
The nodes are real processes with stores, registries and agents of their own; their operating system is simulated:
a reboot ends the process, which comes back with a new boot id. It runs until Ctrl-C or 'sluice up stop'. The web
console is served on loopback: a terminal is shown a link to log in, a log the command that prints one.

Examples:
  sluice up --release ./1.0.0 --key sluice.pub --dir ./rehearsal
  export KUBECONFIG=$PWD/rehearsal/kubeconfig; sluice release ls
  sluice up status                                   The cluster of KUBECONFIG
  sluice up stop --dir ./rehearsal`,
  );
  return root;
}

async function start(options: UpCommandOptions): Promise<void> {
  const nodes = Number(options.nodes);
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > 9) {
    throw new SluiceError('Usage', `--nodes ${options.nodes}: from 1 to 9 nodes are possible`);
  }
  const { runUp } = await import('../up/cluster.ts');
  const { createLogger } = await import('../observe/log.ts');
  const { followParent, terminationSignal } = await import('../process/parent.ts');
  const { selfCommand } = await import('../program/self.ts');
  followParent();
  const dir = resolve(options.dir ?? upDirectoryDefault);
  await runUp({
    dir,
    release: options.release === undefined ? undefined : resolve(options.release),
    keyFiles: (options.key ?? []).map((file) => resolve(file)),
    nodes,
    workload: options.workload,
    program: selfCommand(),
    logger: createLogger('up'),
    say: note,
    personReads: process.stderr.isTTY,
    signal: terminationSignal(() => {
      note('ended at once: containers of its nodes and their mounts may be left');
      note(`  to end them: sluice up stop --dir ${shellWord(dir)}`);
    }),
  });
}

/** Where the cluster that is meant may be: `--dir`, else that of the kubeconfig in use, then the usual place. */
async function layoutsMeant(options: UpCommandOptions): Promise<readonly UpLayout[]> {
  const { upLayout } = await import('../up/layout.ts');
  return findUpDirectories({ dir: options.dir }, process.env).directories.map(upLayout);
}

async function firstRunning(
  layouts: readonly UpLayout[],
): Promise<{ readonly layout: UpLayout; readonly state: UpState } | undefined> {
  const { runningState } = await import('../up/state.ts');
  for (const layout of layouts) {
    const state = await runningState(layout);
    if (state !== undefined) return { layout, state };
  }
  return undefined;
}

const placesOf = (layouts: readonly UpLayout[]) => layouts.map(({ dir }) => dir).join(', ');

async function status(options: UpCommandOptions): Promise<void> {
  const format = parseFormat(options.output);
  const layouts = await layoutsMeant(options);
  const running = await firstRunning(layouts);
  if (running === undefined) {
    throw new SluiceError('NotFound', `no cluster runs from ${placesOf(layouts)}`, {
      next: nextWithoutDirectory(
        findUpDirectories({ dir: options.dir }, process.env).named,
        clusterPlaces(),
        'Name the directory of one that runs: --dir DIR; or start one: sluice up --dir DIR.',
      ),
    });
  }
  const { layout, state } = running;
  if (format === 'json' || format === 'yaml') return await printObject(state, format);
  if (format === 'name') return print(state.nodes.map((node) => `node/${node.name}`).join('\n'));
  print(`${state.phase}: installed with ${state.release}, process ${state.pid}`);
  print(`  export KUBECONFIG=${shellWord(state.kubeconfig)}`);
  for (const node of state.nodes) print(`  ${node.name}   registry ${node.registry}   ${node.dir}`);
  if (state.consoleUrl !== undefined) {
    print(`  console: ${state.consoleUrl} (to log in: sluice console link --dir ${shellWord(layout.dir)})`);
  }
  print(`  containers: ${state.workload.runner}`);
  print(`  registries: CA ${state.caFile}, credentials ${state.authFile}`);
}

async function stop(options: UpCommandOptions): Promise<void> {
  const { stopRunning } = await import('../up/stop.ts');
  const layouts = await layoutsMeant(options);
  const running = await firstRunning(layouts);
  if (running !== undefined && (await stopRunning(running.layout))) {
    return note(`the cluster of ${running.layout.dir} is stopped`);
  }
  const { clearLeftovers } = await import('../up/leftovers.ts');
  let known = false;
  for (const layout of layouts) {
    if (!(await clearLeftovers(layout))) continue;
    known = true;
    note(`no cluster runs from ${layout.dir}; none of its containers is left`);
  }
  if (known) return;
  throw new SluiceError('NotFound', `no cluster runs from ${placesOf(layouts)}, nor did one ever`, {
    next: 'Name the directory that it was started with: sluice up stop --dir DIR.',
  });
}
