import { Command, Option } from 'commander';
import type { NodeUpdate } from '../api/resources.ts';
import { windowState } from '../api/window.ts';
import { SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { bareName } from './arguments.ts';
import { type ConnectOptions, connect, withConnection } from './connect.ts';
import {
  type Format,
  formatFlag,
  formatHelp,
  humanDuration,
  isData,
  note,
  parseFormat,
  print,
  printObject,
  printTable,
} from './output.ts';
import { noSuchNode } from './unknown-node.ts';
import { hostNote, upOfMachine } from './up-directory.ts';
import { printHost, printNodes, printPools, type WindowRow } from './window-data.ts';
import { endOf, endWords, longWindowWarning } from './window-end.ts';

interface WindowOptions extends ConnectOptions {
  readonly nodes?: string;
  readonly all?: boolean;
  readonly pool?: string;
  readonly marker?: string;
  readonly host?: boolean;
  readonly until?: string;
  readonly once?: boolean;
  readonly release?: string;
  readonly output?: string;
}

/** The marker file of this host: the one that is named, else the one of its configuration. */
async function markerOf(options: WindowOptions) {
  const { configDirectories } = await import('../finalize/config.ts');
  const { loadConfig } = await import('../finalize/config-files.ts');
  const { marker } = (await loadConfig(configDirectories)).config;
  return { ...marker, path: options.marker ?? marker.path };
}

/** `sluice window open|close|status`. */
export function command(): Command {
  const root = new Command().description('Open and close the window in which nodes may reboot');
  const open = where(root.command('open').description('Let nodes reboot, until a time'))
    .requiredOption('--until <time>', 'how long (90m, 2h, 1d), the next 17:00 here, or 2026-12-01T04:00:00Z')
    .option('--once', 'the first reboot closes it')
    .option('--release <version>', 'only into this release')
    .addOption(poolOption())
    .option(formatFlag, formatHelp)
    .action((options: WindowOptions) => openWindow(options));
  const close = where(root.command('close').description('Take the permission back'))
    .addOption(poolOption())
    .option(formatFlag, formatHelp)
    .action(closeWindow);
  const status = where(root.command('status').alias('ls').description('Show where a window is open'))
    .option(formatFlag, formatHelp)
    .action(showWindows);
  for (const each of [open, close, status]) withConnection(each);
  root.addHelpText(
    'after',
    `
With --nodes, --all, --kubeconfig, --context or KUBECONFIG it is about the nodes of that cluster; else, and with --host
or --marker, about this host alone. Which of both it was is said. To open a window in a cluster, say for which nodes:
--nodes, or --all; close and status mean all of them where nothing is said.
A window opens no other gate: block inhibitors, users and the fleet lock still hold a node.

Examples:
  sluice window open --until 2h --once --host       This host, for one reboot within two hours
  sluice window open --until 2h --all               Every node of the cluster
  sluice window open --until 4h --nodes master-0,master-1 --release 1.1.0
  sluice window open --until 2h --all -o json       What was opened, and until when, for a script
  sluice window status
  sluice window close --all
  sluice window close --host
  sluice window open --until 2h --pool worker       OpenShift: a MachineConfigPool with windows (docs/openshift.md)
  sluice window status --kubeconfig FILE            OpenShift: its pools; with --nodes, single nodes`,
  );
  return root;
}

function poolOption(): Option {
  const about = 'on OpenShift: a MachineConfigPool that has windows, instead of single nodes';
  return new Option('--pool <name>', about).conflicts(['nodes', 'all', 'host', 'marker', 'once', 'release']);
}

async function setWindowOfPool(options: WindowOptions, given: string, until: number | null): Promise<void> {
  const format = parseFormat(options.output);
  const name = bareName(given, 'machineconfigpool');
  const { poolWindows, setPoolWindow } = await import('../rollout/pool-controller.ts');
  const client = await connect(options);
  try {
    await setPoolWindow(client, name, until);
    if (isData(format)) {
      const pools = (await poolWindows(client, Date.now())) ?? [];
      await printPools(
        pools.filter(({ pool }) => pool === name),
        format,
      );
      return;
    }
  } finally {
    await client.close();
  }
  if (until !== null) note(`window open on pool ${name} until ${endWords(options.until ?? '', until)}`);
  else note(`pool ${name} is open in its weekly windows alone`);
}

function where(command: Command): Command {
  return command
    .option(
      '--nodes <which>',
      "nodes of the cluster: 'all', names parted by commas, or a label selector (key=value)",
    )
    .addOption(new Option('--all', 'all nodes of the cluster, as --nodes all').conflicts('nodes'))
    .option('--host', 'this host, whatever KUBECONFIG says')
    .option('--marker <file>', 'the marker file of this host (default: as its configuration says)');
}

/** The nodes that a window is opened on. Errors: Usage, where nobody has said which: it is too much to mean all unasked. */
export function nodesToOpen(options: Pick<WindowOptions, 'nodes' | 'all'>, by: string): string {
  if (options.all === true) return 'all';
  if (options.nodes !== undefined) return options.nodes;
  throw new SluiceError(
    'Usage',
    `for which nodes of the cluster is the window? (a cluster is meant by ${by})`,
    {
      next: 'Name them: --nodes master-0,master-1 (or a label: key=value), or all: --all; this host alone: --host.',
    },
  );
}

/** What to say of a window for one release on a node that has another one staged; undefined where it has not. */
export function otherReleaseWarning(
  release: string | undefined,
  node: string,
  staged: string | undefined,
): string | undefined {
  if (release === undefined || staged === undefined || staged === release) return undefined;
  return `warning: ${node} has ${staged} staged, and this window does not let it reboot into that: leave out --release, or give --release ${staged}`;
}

/** Where a window is opened: the marker file of this host, or the nodes of a cluster; and what decided it. */
export type WindowPlace = { readonly kind: 'host' } | { readonly kind: 'cluster'; readonly by: string };

/**
 * Flags decide before the environment, and a kubeconfig that is only lying in the home directory decides nothing: on a
 * node it may be anybody's. Errors: Usage, where the words mean both.
 */
export function placeOf(
  options: Pick<WindowOptions, 'nodes' | 'all' | 'marker' | 'host' | 'kubeconfig' | 'context'>,
  environment: NodeJS.ProcessEnv,
): WindowPlace {
  const { nodes, all, kubeconfig, context } = options;
  const ofHost = options.marker !== undefined ? '--marker' : options.host === true ? '--host' : undefined;
  const fromEnvironment = environment.KUBECONFIG ?? '';
  const ofCluster =
    kubeconfig !== undefined
      ? `--kubeconfig ${kubeconfig}`
      : context !== undefined
        ? `--context ${context}`
        : nodes !== undefined
          ? `--nodes ${nodes}`
          : all === true
            ? '--all'
            : undefined;
  if (ofHost !== undefined && ofCluster !== undefined) {
    throw new SluiceError('Usage', `${ofHost} means this host and ${ofCluster} a cluster`, {
      next: 'Give one of them.',
    });
  }
  if (ofHost !== undefined) return { kind: 'host' };
  if (ofCluster !== undefined) return { kind: 'cluster', by: ofCluster };
  return fromEnvironment === '' ? { kind: 'host' } : { kind: 'cluster', by: `KUBECONFIG=${fromEnvironment}` };
}

/**
 * Whether it is about a cluster; which of both is said, since the same words can mean either. Of a cluster it is said
 * once that was reached (`eachNode`).
 */
function isOfCluster(place: WindowPlace): boolean {
  if (place.kind === 'host') {
    note(hostNote(upOfMachine(process.env), 'a cluster: --nodes, --kubeconfig or KUBECONFIG'));
  }
  return place.kind === 'cluster';
}

async function openWindow(options: WindowOptions): Promise<void> {
  const format = parseFormat(options.output);
  const now = Date.now();
  const end = endOf(options.until ?? '', now);
  const place = placeOf(options, process.env);
  const isOfPool = options.pool !== undefined;
  const nodes = isOfPool || place.kind === 'host' ? undefined : nodesToOpen(options, place.by);
  const warning = longWindowWarning(end, now);
  if (warning !== undefined) note(warning);
  if (options.pool !== undefined) return await setWindowOfPool(options, options.pool, end);
  const once = options.once === true;
  const release = options.release === undefined ? {} : { release: options.release };
  const said = `until ${endWords(options.until ?? '', end)}${once ? ', for one reboot' : ''}${options.release === undefined ? '' : `, for ${options.release} only`}`;
  if (!isOfCluster(place)) {
    const { writeMarker } = await import('../finalize/marker.ts');
    const { path } = await markerOf(options);
    const marker = { notAfter: Math.floor(end / 1000), once, ...release };
    await writeMarker(path, marker);
    if (await printHost(path, { kind: 'allowed', marker }, format)) return;
    note(`window open on this host ${said} (${path})`);
    return;
  }
  const windows = await import('../rollout/window.ts');
  const window = { notAfter: `${new Date(end).toISOString().slice(0, 19)}Z`, once, ...release };
  const opened: WindowRow[] = [];
  await eachNode({ ...options, ...(nodes === undefined ? {} : { nodes }) }, async (client, name, node) => {
    await windows.openWindow(client, name, window);
    opened.push({ node: name, state: 'open', window });
    if (!isData(format)) note(`window open on ${name} ${said}`);
    const unfit = otherReleaseWarning(options.release, name, node.status?.staged?.version);
    if (unfit !== undefined) note(unfit);
  });
  await printNodes(opened, format);
}

async function closeWindow(options: WindowOptions): Promise<void> {
  const format = parseFormat(options.output);
  if (options.pool !== undefined) return await setWindowOfPool(options, options.pool, null);
  if (!isOfCluster(placeOf(options, process.env))) {
    const { removeMarker } = await import('../finalize/marker.ts');
    const { path } = await markerOf(options);
    const wasThere = await removeMarker(path);
    if (format === 'json' || format === 'yaml') {
      return await printObject({ path, state: 'closed', wasThere }, format);
    }
    if (format === 'name') return print(path);
    note(wasThere ? `window closed on this host (${path})` : `no window is open here (${path})`);
    return;
  }
  const windows = await import('../rollout/window.ts');
  const now = Date.now();
  const closed: WindowRow[] = [];
  await eachNode(options, async (client, name, node) => {
    if (node.spec.window === undefined) return;
    // One that has ended is taken away too: the clock of a node may be behind.
    await windows.closeWindow(client, name);
    if (windowState(node, now) !== 'open') return;
    closed.push({ node: name, state: 'closed', window: undefined });
    if (!isData(format)) note(`window closed on ${name}`);
  });
  if ((await printNodes(closed, format)) || closed.length > 0) return;
  const { nodes = 'all' } = options;
  note(nodes === 'all' ? 'no window was open on any node' : `no window was open (--nodes ${nodes})`);
}

async function showWindows(options: WindowOptions): Promise<void> {
  const format = parseFormat(options.output);
  if (!isOfCluster(placeOf(options, process.env))) {
    const { lookAtMarker, markerAllows } = await import('../finalize/marker.ts');
    const { path, allowWithoutExpiry } = await markerOf(options);
    const found = await lookAtMarker(path, { allowWithoutExpiry, ownerUid: process.getuid?.() ?? 0 });
    // Which release is staged only the agent knows; here counts whether the window is open for its own.
    const { release: only } = found.kind === 'allowed' ? found.marker : {};
    const look =
      found.kind === 'allowed'
        ? markerAllows(found.marker, only === undefined ? {} : { version: only }, Date.now())
        : found;
    if (await printHost(path, look, format)) return;
    if (look.kind === 'denied') return print(`closed: ${look.message}`);
    const { notAfter, once, release } = look.marker;
    const end =
      notAfter === undefined
        ? 'without an end'
        : `until ${endWords('', notAfter * 1000)} (${humanDuration(notAfter * 1000 - Date.now())})`;
    return print(
      `open ${end}${once ? ', for one reboot' : ''}${release === undefined ? '' : `, only into ${release}`} (${path})`,
    );
  }
  if (options.nodes === undefined && options.all !== true && (await showPools(options, format))) return;
  const rows: WindowRow[] = [];
  await eachNode(options, async (_, name, update) => {
    rows.push({ node: name, state: windowState(update, Date.now()), window: update.spec.window });
  });
  if (await printNodes(rows, format)) return;
  printTable(
    ['NODE', 'WINDOW', 'ENDS IN', 'ONCE', 'RELEASE'],
    rows.map(({ node, state, window }) => {
      if (window === undefined) return [node, state, '', '', ''];
      const left = Date.parse(window.notAfter) - Date.now();
      return [
        node,
        state,
        state === 'open' ? humanDuration(left) : '',
        window.once === true ? 'yes' : 'no',
        window.release ?? 'any',
      ];
    }),
  );
}

/** On OpenShift the machine-config operator reboots nodes, pool by pool. Answers whether there are pools. */
async function showPools(options: WindowOptions, format: Format): Promise<boolean> {
  const { poolWindows } = await import('../rollout/pool-controller.ts');
  const now = Date.now();
  const client = await connect(options);
  const pools = await poolWindows(client, now).finally(() => client.close());
  if (pools === undefined) return false;
  if (await printPools(pools, format)) return true;
  printTable(
    ['POOL', 'WINDOW', 'CHANGES IN', 'PAUSED BY'],
    pools.map(({ pool, window, at, pausedBy, problem }) => [
      pool,
      problem === undefined ? window : `${window}: ${problem}`,
      at === undefined ? '' : humanDuration(at - now),
      pausedBy ?? '',
    ]),
  );
  return true;
}

async function eachNode(
  options: WindowOptions,
  act: (client: KubeClient, name: string, node: NodeUpdate) => Promise<void>,
): Promise<void> {
  const client = await connect(options);
  try {
    const place = placeOf(options, process.env);
    if (place.kind === 'cluster') note(`of the cluster, by ${place.by} (this host: --host)`);
    const wanted = options.nodes ?? 'all';
    const { items } = await client.list<NodeUpdate>(client.kinds.NodeUpdate);
    let names = new Set(items.map((node) => node.metadata.name ?? ''));
    if (/[=!() ]/.test(wanted)) {
      const selected = await client.list(client.kinds.Node, { labelSelector: wanted });
      names = new Set(selected.items.map((node) => node.metadata.name ?? ''));
    } else if (wanted !== 'all') {
      const asked = wanted.split(',').map((name) => bareName(name, 'nodeupdate', 'node'));
      const unknown = asked.filter((name) => !names.has(name));
      if (unknown.length > 0) throw noSuchNode(unknown, names);
      names = new Set(asked);
    }
    const chosen = items.filter((node) => names.has(node.metadata.name ?? ''));
    if (chosen.length === 0) {
      throw new SluiceError('NotFound', `no node is meant by --nodes ${wanted}`, {
        next: 'See which there are: sluice node why; name some of them, a label, or all.',
      });
    }
    for (const node of chosen) await act(client, node.metadata.name ?? '', node);
  } finally {
    await client.close();
  }
}
