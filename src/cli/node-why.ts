import { hostname } from 'node:os';
import type { NodeUpdate } from '../api/resources.ts';
import { bareName } from './arguments.ts';
import { type ConnectOptions, connect } from './connect.ts';
import { explainFleet, explainNode, type ShownNode } from './node-explain.ts';
import { ownSocket, usualSocket } from './node-socket.ts';
import { humanDuration, note, parseFormat, print, printObject, printTable } from './output.ts';
import { noSuchNode } from './unknown-node.ts';

interface ShowOptions extends ConnectOptions {
  readonly output?: string;
  readonly json?: boolean;
  readonly socket?: string;
}

/** More nodes than these are no screen: they are told by what holds them. */
const screenNodes = 12;

/** The agent's socket, where this host runs alone or it is asked for by name. */
function localSocket(names: readonly string[], options: ShowOptions): string | undefined {
  if (options.socket !== undefined) return options.socket;
  const cluster = options.kubeconfig ?? options.context ?? process.env.KUBECONFIG;
  return names.length === 0 && cluster === undefined ? ownSocket() : undefined;
}

async function nodesOf(given: readonly string[], options: ShowOptions): Promise<ShownNode[]> {
  const names = given.map((name) => bareName(name, 'node', 'nodeupdate'));
  const socket = localSocket(names, options);
  if (socket !== undefined) return [await askAgent(socket)];
  const client = await connect(options);
  try {
    const { items } = await client.list<NodeUpdate>(client.kinds.NodeUpdate);
    const unknown = names.filter((name) => !items.some(({ metadata }) => metadata.name === name));
    if (unknown.length > 0)
      throw noSuchNode(
        unknown,
        items.map(({ metadata }) => metadata.name ?? ''),
      );
    return items
      .filter(({ metadata }) => names.length === 0 || names.includes(metadata.name ?? ''))
      .map(fromCluster);
  } finally {
    await client.close();
  }
}

async function askAgent(socket: string): Promise<ShownNode> {
  const { askNode } = await import('../node/socket.ts');
  const said = (await askNode(socket, 'GET /v1/finalization')) as unknown as Partial<
    import('../finalize/report.ts').AgentReport
  > & { deadend?: string; graph?: { problem?: string; checkedAt: number } };
  const staged = said.os?.staged?.version ?? said.os?.staged?.digest ?? '';
  return {
    node: hostname(),
    state: said.state ?? 'Unknown',
    driver: said.driver ?? '',
    bootID: said.bootID ?? '',
    ...bootedOf(said.os?.booted?.version ?? said.os?.booted?.digest),
    staged,
    message: staged === '' ? `no update is staged${askedOf(said.graph)}` : '',
    strategies: said.strategies ?? [],
    holds: said.holds ?? [],
    notes: [
      ...(said.deadend === undefined ? [] : [`the booted release is a dead end: ${said.deadend}`]),
      ...(said.graph?.problem === undefined
        ? []
        : [`the update graph cannot be asked: ${said.graph.problem}`]),
      ...(said.configWarnings ?? []),
    ],
    local: true,
    whole: said,
    ...(said.nextPossible === undefined ? {} : { nextPossible: said.nextPossible }),
  };
}

function askedOf(graph: { readonly checkedAt: number } | undefined): string {
  if (graph === undefined || graph.checkedAt === 0) return '';
  return `; the update graph was asked ${humanDuration(Date.now() - graph.checkedAt)} ago`;
}

function bootedOf(system: string | undefined): Pick<ShownNode, 'booted'> {
  return system === undefined ? {} : { booted: system };
}

function fromCluster(whole: NodeUpdate): ShownNode {
  const { metadata, status } = whole;
  return {
    node: metadata.name ?? '',
    state: status?.state ?? 'Unknown',
    driver: status?.driver ?? 'no',
    bootID: status?.bootID ?? '',
    ...bootedOf(status?.booted?.version ?? status?.booted?.image),
    staged: status?.staged?.version ?? status?.staged?.image ?? '',
    // At rest it says what runs, which stands before it already.
    message: status?.state === 'Idle' ? '' : (status?.message ?? ''),
    strategies: status?.strategies ?? [],
    notes: [],
    local: false,
    holds: (status?.holds ?? []) as ShownNode['holds'],
    whole,
    ...(status?.nextPossible === undefined ? {} : { nextPossible: status.nextPossible }),
  };
}

/** `sluice node why`: one screen, of however many nodes. */
export async function why(names: string[], options: ShowOptions): Promise<void> {
  const format = parseFormat(options.output);
  const nodes = await nodesOf(names, options);
  if (format === 'json' || format === 'yaml') {
    const rows = nodes.map(({ node, state, holds, nextPossible }) => ({ node, state, holds, nextPossible }));
    return await printObject(rows, format);
  }
  if (format === 'name') return print(nodes.map(({ node }) => `node/${node}`).join('\n'));
  if (nodes.length > screenNodes && names.length === 0 && format !== 'wide')
    return print(explainFleet(nodes, Date.now()));
  for (const each of nodes) print(explainNode(each, Date.now()));
}

/** `sluice node status`. */
export async function status(names: string[], options: ShowOptions): Promise<void> {
  const format = parseFormat(options.json === true ? 'json' : options.output);
  const nodes = await nodesOf(names, options);
  if (format === 'json' || format === 'yaml') {
    return await printObject(
      nodes.map(({ whole }) => whole),
      format,
    );
  }
  if (format === 'name') return print(nodes.map(({ node }) => `node/${node}`).join('\n'));
  printTable(
    ['NODE', 'BOOTED', 'STAGED', 'STATE', 'BOOT', 'DRIVER', 'MESSAGE'],
    nodes.map(({ node, booted, staged, state, bootID, driver, message }) => [
      node,
      booted ?? '-',
      staged,
      state,
      bootID.slice(0, 8),
      driver,
      message,
    ]),
  );
}

/** `sluice node approve`. */
export async function approve(
  release: string | undefined,
  options: { readonly socket?: string },
): Promise<void> {
  const { askNode } = await import('../node/socket.ts');
  const socket = options.socket ?? ownSocket() ?? usualSocket;
  await askNode(socket, 'POST /v1/approve', release === undefined ? {} : { release });
  note('approved: it reboots once, within the hour, when nothing else holds it (sluice node why)');
}
