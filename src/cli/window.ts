import { Command } from 'commander';
import type { NodeUpdate } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { type ConnectOptions, connect, parseDuration, withConnection } from './connect.ts';
import {
  formatFlag,
  formatHelp,
  humanDuration,
  note,
  parseFormat,
  print,
  printObject,
  printTable,
} from './output.ts';

interface WindowOptions extends ConnectOptions {
  readonly nodes?: string;
  readonly marker?: string;
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
    .requiredOption('--until <time>', 'how long (90m, 2h, 1d), or a time as 2026-12-01T04:00:00Z')
    .option('--once', 'the first reboot closes it')
    .option('--release <version>', 'only into this release')
    .action((options: WindowOptions) => openWindow(options));
  const close = where(root.command('close').description('Take the permission back')).action(closeWindow);
  const status = where(root.command('status').description('Show where a window is open'))
    .option(formatFlag, formatHelp)
    .action(showWindows);
  for (const each of [open, close, status]) withConnection(each);
  root.addHelpText(
    'after',
    `
Without --nodes and --kubeconfig the marker file of this host is written; with them the windows of the cluster's nodes.
A window opens no other gate: block inhibitors, users and the fleet lock still hold a node.

Examples:
  sluice window open --until 2h --once              This host, for one reboot within two hours
  sluice window open --until 2h --nodes all         Every node of the cluster
  sluice window open --until 4h --nodes master-0,master-1 --release 1.1.0
  sluice window close --nodes all`,
  );
  return root;
}

function where(command: Command): Command {
  return command
    .option(
      '--nodes <which>',
      "nodes of the cluster: 'all', names parted by commas, or a label selector (key=value)",
    )
    .option('--marker <file>', 'the marker file of this host (default: as its configuration says)');
}

/** Unix milliseconds of `--until`. */
export function endOf(until: string, now: number): number {
  if (/^\d{4}-/.test(until)) {
    const at = Date.parse(until);
    if (Number.isNaN(at)) throw new SluiceError('Usage', `'${until}' is not a time`);
    if (at <= now) throw new SluiceError('Usage', `${until} is in the past`);
    return at;
  }
  return now + parseDuration(until);
}

const clusterWide = (options: WindowOptions) =>
  options.nodes !== undefined || options.kubeconfig !== undefined;

async function openWindow(options: WindowOptions): Promise<void> {
  const end = endOf(options.until ?? '', Date.now());
  const once = options.once === true;
  const release = options.release === undefined ? {} : { release: options.release };
  const said = `until ${new Date(end).toISOString()}${once ? ', for one reboot' : ''}`;
  if (!clusterWide(options)) {
    const { writeMarker } = await import('../finalize/marker.ts');
    const { path } = await markerOf(options);
    await writeMarker(path, { notAfter: Math.floor(end / 1000), once, ...release });
    note(`window open on this host ${said} (${path})`);
    return;
  }
  const windows = await import('../rollout/window.ts');
  const window = { notAfter: `${new Date(end).toISOString().slice(0, 19)}Z`, once, ...release };
  await eachNode(options, async (client, name) => {
    await windows.openWindow(client, name, window);
    note(`window open on ${name} ${said}`);
  });
}

async function closeWindow(options: WindowOptions): Promise<void> {
  if (!clusterWide(options)) {
    const { removeMarker } = await import('../finalize/marker.ts');
    const { path } = await markerOf(options);
    note(
      (await removeMarker(path))
        ? `window closed on this host (${path})`
        : `no window is open here (${path})`,
    );
    return;
  }
  const windows = await import('../rollout/window.ts');
  await eachNode(options, async (client, name) => {
    await windows.closeWindow(client, name);
    note(`window closed on ${name}`);
  });
}

async function showWindows(options: WindowOptions): Promise<void> {
  const format = parseFormat(options.output);
  if (!clusterWide(options)) {
    const { lookAtMarker, markerAllows } = await import('../finalize/marker.ts');
    const { path, allowWithoutExpiry } = await markerOf(options);
    const found = await lookAtMarker(path, { allowWithoutExpiry, ownerUid: process.getuid?.() ?? 0 });
    // Which release is staged only the agent knows; here counts whether the window is open for its own.
    const { release: only } = found.kind === 'allowed' ? found.marker : {};
    const look =
      found.kind === 'allowed'
        ? markerAllows(found.marker, only === undefined ? {} : { version: only }, Date.now())
        : found;
    if (format === 'json' || format === 'yaml') return await printObject({ path, ...look }, format);
    if (look.kind === 'denied') return print(`closed: ${look.message}`);
    const { notAfter, once, release } = look.marker;
    const end =
      notAfter === undefined
        ? 'without an end'
        : `until ${new Date(notAfter * 1000).toISOString()} (${humanDuration(notAfter * 1000 - Date.now())})`;
    return print(
      `open ${end}${once ? ', for one reboot' : ''}${release === undefined ? '' : `, only into ${release}`} (${path})`,
    );
  }
  const rows: { node: string; window: NodeUpdate['spec']['window'] }[] = [];
  await eachNode(options, async (_, name, node) => {
    rows.push({ node: name, window: node.spec.window });
  });
  if (format === 'json' || format === 'yaml') return await printObject(rows, format);
  printTable(
    ['NODE', 'WINDOW', 'ENDS IN', 'ONCE', 'RELEASE'],
    rows.map(({ node, window }) => {
      if (window === undefined) return [node, 'closed', '', '', ''];
      const left = Date.parse(window.notAfter) - Date.now();
      const state = left > 0 ? 'open' : 'ended';
      return [
        node,
        state,
        left > 0 ? humanDuration(left) : '',
        window.once === true ? 'yes' : 'no',
        window.release ?? 'any',
      ];
    }),
  );
}

async function eachNode(
  options: WindowOptions,
  act: (client: KubeClient, name: string, node: NodeUpdate) => Promise<void>,
): Promise<void> {
  const client = await connect(options);
  try {
    const wanted = options.nodes ?? 'all';
    const { items } = await client.list<NodeUpdate>(client.kinds.NodeUpdate);
    let names = new Set(items.map((node) => node.metadata.name ?? ''));
    if (/[=!() ]/.test(wanted)) {
      const selected = await client.list(client.kinds.Node, { labelSelector: wanted });
      names = new Set(selected.items.map((node) => node.metadata.name ?? ''));
    } else if (wanted !== 'all') {
      const asked = wanted.split(',');
      const unknown = asked.filter((name) => !names.has(name));
      if (unknown.length > 0) throw new SluiceError('NotFound', `there is no node ${unknown.join(', ')}`);
      names = new Set(asked);
    }
    const chosen = items.filter((node) => names.has(node.metadata.name ?? ''));
    if (chosen.length === 0) throw new SluiceError('NotFound', `no node is meant by --nodes ${wanted}`);
    for (const node of chosen) await act(client, node.metadata.name ?? '', node);
  } finally {
    await client.close();
  }
}
