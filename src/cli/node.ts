import { Command, Option } from 'commander';
import type { NodeUpdate } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import { type ConnectOptions, connect, withConnection } from './connect.ts';
import {
  formatFlag,
  formatHelp,
  humanDuration,
  note,
  paint,
  parseFormat,
  print,
  printObject,
  printTable,
} from './output.ts';

interface RunOptions extends ConnectOptions {
  readonly name: string;
  readonly dir: string;
  readonly address: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly trustedKeys?: string;
  readonly configDir: string[];
  readonly workload: 'podman' | 'sandbox' | 'none';
  readonly containers?: string;
  readonly osDriver: 'simulated';
  readonly bootId?: string;
}

interface ShowOptions extends ConnectOptions {
  readonly output?: string;
  readonly configDir?: string[];
}

/** `sluice node run|why|status|config`. */
export function command(): Command {
  const root = new Command().description('Run a node agent; see why a node does not reboot yet');
  withConnection(root.command('why').description('What holds a node, since when, and what would let it go'))
    .argument('[node...]', 'nodes (default: all)')
    .option(formatFlag, formatHelp)
    .action(why);
  withConnection(root.command('status').description('What each node runs, has staged, and does'))
    .argument('[node...]', 'nodes (default: all)')
    .option(formatFlag, formatHelp)
    .action(status);
  root
    .command('config')
    .description('The rule in force on this host, and everything about it that has no effect')
    .option('--config-dir <dir...>', 'directories of drop-ins, a later one wins')
    .option(formatFlag, formatHelp)
    .action(config);
  withConnection(root.command('run').description('Run the agent of one node'))
    .requiredOption('--name <node>', 'the name of the node')
    .requiredOption('--dir <dir>', 'where it keeps its store and its state')
    .requiredOption('--address <ip>', 'where its registry and its kubelet listen')
    .requiredOption('--ca <file>', "the cluster's authority")
    .requiredOption('--cert <file>', "the node's certificate")
    .requiredOption('--key <file>', 'its key')
    .option('--trusted-keys <dir>', 'trusted keys beside those of the cluster')
    .option('--config-dir <dir...>', 'directories of drop-ins, a later one wins')
    .addOption(
      new Option('--workload <runner>', 'what runs Pods')
        .choices(['podman', 'sandbox', 'none'])
        .default('none'),
    )
    .option('--containers <dir>', 'where images and containers are kept (default: DIR/containers)')
    .addOption(
      new Option('--os-driver <driver>', 'what stages and reboots')
        .choices(['simulated'])
        .default('simulated'),
    )
    .option('--boot-id <id>', "the boot id that a simulated node shows (default: the kernel's)")
    .action(run);
  root.addHelpText(
    'after',
    `
Examples:
  sluice node why                   Every node that waits, gate by gate
  sluice node why master-0 -o json
  sluice node config                Which file says what, and which key has no effect`,
  );
  return root;
}

async function nodesOf(names: readonly string[], options: ShowOptions): Promise<NodeUpdate[]> {
  const client = await connect(options);
  try {
    const { items } = await client.list<NodeUpdate>(client.kinds.NodeUpdate);
    const unknown = names.filter((name) => !items.some(({ metadata }) => metadata.name === name));
    if (unknown.length > 0) throw new SluiceError('NotFound', `there is no node ${unknown.join(', ')}`);
    return items.filter(({ metadata }) => names.length === 0 || names.includes(metadata.name));
  } finally {
    await client.close();
  }
}

async function why(names: string[], options: ShowOptions): Promise<void> {
  const format = parseFormat(options.output);
  const nodes = await nodesOf(names, options);
  if (format === 'json' || format === 'yaml') {
    const rows = nodes.map(({ metadata, status }) => ({
      node: metadata.name,
      state: status?.state,
      holds: status?.holds ?? [],
      nextPossible: status?.nextPossible,
    }));
    return await printObject(rows, format);
  }
  for (const { metadata, status } of nodes) {
    const holds = status?.holds ?? [];
    const runs = status?.booted?.version ?? status?.booted?.image ?? 'unknown';
    const head = `${paint('bold', metadata.name)} runs ${runs} (${status?.driver ?? 'no'} driver)`;
    if (holds.length === 0) {
      print(`${head}: nothing holds it; ${status?.message ?? 'no update is staged'}`);
      continue;
    }
    print(
      `${head}, ${status?.staged?.version ?? status?.staged?.image ?? 'nothing'} is staged, and it is held:`,
    );
    for (const hold of holds) {
      print(`  ${hold.gate.padEnd(12)} ${hold.message}   (${hold.reason}, for ${age(hold.since)})`);
    }
    const next = status?.nextPossible;
    print(
      `  ${'next'.padEnd(12)} ${next === undefined ? hint(holds[0]?.gate, metadata.name) : `could reboot at ${next}`}`,
    );
  }
}

/** What a person can do about the first gate that holds. */
function hint(gate: string | undefined, node: string): string {
  switch (gate) {
    case 'marker_file':
      return `open a window: sluice window open --until 2h --nodes ${node}`;
    case 'fleet_lock':
      return 'it goes on by itself when the slot is free; who holds it: sluice lock ls';
    case 'config':
      return 'mend the file that is named; see all of it with: sluice node config';
    case 'clock':
      return 'let the clock be synchronised, or declare it right: agent.clock = "trusted"';
    default:
      return 'it goes on by itself when nothing holds it any more';
  }
}

const age = (since: string) => humanDuration(Date.now() - Date.parse(since));

async function status(names: string[], options: ShowOptions): Promise<void> {
  const format = parseFormat(options.output);
  const nodes = await nodesOf(names, options);
  if (format === 'json' || format === 'yaml') return await printObject(nodes, format);
  printTable(
    ['NODE', 'BOOTED', 'STAGED', 'STATE', 'BOOT', 'DRIVER', 'MESSAGE'],
    nodes.map(({ metadata, status: of }) => [
      metadata.name,
      of?.booted?.version ?? '',
      of?.staged?.version ?? '',
      of?.state ?? 'Unknown',
      of?.bootID?.slice(0, 8) ?? '',
      of?.driver ?? '',
      of?.message ?? '',
    ]),
  );
}

async function config(options: ShowOptions): Promise<void> {
  const format = parseFormat(options.output);
  const { configDirectories, loadConfig } = await import('../finalize/config-files.ts');
  const loaded = await loadConfig(options.configDir ?? configDirectories);
  if (format === 'json' || format === 'yaml') await printObject(loaded, format);
  else {
    const { config: rule } = loaded;
    print(`strategy     ${rule.strategies.join(' and ')}${rule.enabled ? '' : ' (updates are disabled)'}`);
    print(`marker file  ${rule.marker.path}${rule.marker.allowWithoutExpiry ? ', also without an end' : ''}`);
    print(
      `fleet lock   ${rule.fleetLock.baseUrl === '' ? 'none' : rule.fleetLock.baseUrl} (group ${rule.identity.group})`,
    );
    print(`clock        ${rule.clockTrusted ? 'declared right' : 'must be synchronised'}`);
    for (const warning of loaded.warnings) note(`warning: ${warning}`);
    for (const problem of loaded.problems) note(`error: ${problem}`);
  }
  if (loaded.problems.length > 0) {
    note('nothing is finalized until this is mended');
    process.exitCode = 1;
  }
}

async function run(options: RunOptions): Promise<void> {
  const { runNode } = await import('../node/run.ts');
  const { createLogger } = await import('../observe/log.ts');
  const { followParent, terminationSignal } = await import('../process/parent.ts');
  const { programVersion } = await import('./version.ts');
  followParent();
  const client = await connect(options);
  process.exitCode = await runNode({
    client,
    name: options.name,
    dir: options.dir,
    address: options.address,
    tlsFiles: { ca: options.ca, cert: options.cert, key: options.key },
    ...(options.trustedKeys === undefined ? {} : { trustedKeysDir: options.trustedKeys }),
    configDirectories: options.configDir ?? [],
    workload: options.workload,
    containersDir: options.containers ?? `${options.dir}/containers`,
    ...(options.bootId === undefined ? {} : { bootId: options.bootId }),
    agentVersion: programVersion(),
    logger: createLogger('node').child({ node: options.name }),
    signal: terminationSignal(),
  });
}
