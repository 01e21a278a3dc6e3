import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { NodeUpdate } from '../api/resources.ts';
import { SluiceError } from '../errors/error.ts';
import { type ConnectOptions, connect } from './connect.ts';
import { humanDuration, note, paint, parseFormat, print, printObject, printTable } from './output.ts';

interface ShowOptions extends ConnectOptions {
  readonly output?: string;
  readonly json?: boolean;
  readonly socket?: string;
}

/** A node as its agent reports it, over its socket or into the cluster. */
interface Shown {
  readonly node: string;
  readonly state: string;
  readonly driver: string;
  readonly bootID: string;
  readonly booted: string;
  readonly staged: string;
  readonly message: string;
  readonly holds: readonly { gate: string; reason: string; message: string; since: string }[];
  readonly nextPossible?: string;
  /** As it was reported, for programs. */
  readonly whole: unknown;
}

const hostSocket = '/run/sluice/node.sock';

/** The agent's socket, where this host runs alone or it is asked for by name. */
function localSocket(names: readonly string[], options: ShowOptions): string | undefined {
  if (options.socket !== undefined) return options.socket;
  const cluster = options.kubeconfig ?? options.context ?? process.env.KUBECONFIG;
  return names.length === 0 && cluster === undefined && existsSync(hostSocket) ? hostSocket : undefined;
}

async function nodesOf(names: readonly string[], options: ShowOptions): Promise<Shown[]> {
  const socket = localSocket(names, options);
  if (socket !== undefined) return [await askAgent(socket)];
  const client = await connect(options);
  try {
    const { items } = await client.list<NodeUpdate>(client.kinds.NodeUpdate);
    const unknown = names.filter((name) => !items.some(({ metadata }) => metadata.name === name));
    if (unknown.length > 0) throw new SluiceError('NotFound', `there is no node ${unknown.join(', ')}`);
    return items
      .filter(({ metadata }) => names.length === 0 || names.includes(metadata.name ?? ''))
      .map(fromCluster);
  } finally {
    await client.close();
  }
}

async function askAgent(socket: string): Promise<Shown> {
  const { askNode } = await import('../node/socket.ts');
  const said = (await askNode(socket, 'GET /v1/finalization')) as unknown as Partial<
    import('../finalize/report.ts').AgentReport
  > & { deadend?: string };
  const staged = said.os?.staged?.version ?? said.os?.staged?.digest ?? '';
  return {
    node: hostname(),
    state: said.state ?? 'Unknown',
    driver: said.driver ?? '',
    bootID: said.bootID ?? '',
    booted: said.os?.booted?.version ?? said.os?.booted?.digest ?? 'unknown',
    staged,
    message: said.deadend === undefined ? '' : `the booted release is a dead end: ${said.deadend}`,
    holds: said.holds ?? [],
    whole: said,
    ...(said.nextPossible === undefined ? {} : { nextPossible: said.nextPossible }),
  };
}

function fromCluster(whole: NodeUpdate): Shown {
  const { metadata, status } = whole;
  return {
    node: metadata.name ?? '',
    state: status?.state ?? 'Unknown',
    driver: status?.driver ?? 'no',
    bootID: status?.bootID ?? '',
    booted: status?.booted?.version ?? status?.booted?.image ?? 'unknown',
    staged: status?.staged?.version ?? status?.staged?.image ?? '',
    message: status?.message ?? '',
    holds: (status?.holds ?? []) as Shown['holds'],
    whole,
    ...(status?.nextPossible === undefined ? {} : { nextPossible: status.nextPossible }),
  };
}

/** `sluice node why`: one screen. */
export async function why(names: string[], options: ShowOptions): Promise<void> {
  const format = parseFormat(options.output);
  const nodes = await nodesOf(names, options);
  if (format === 'json' || format === 'yaml') {
    const rows = nodes.map(({ node, state, holds, nextPossible }) => ({ node, state, holds, nextPossible }));
    return await printObject(rows, format);
  }
  if (format === 'name') return print(nodes.map(({ node }) => `node/${node}`).join('\n'));
  for (const each of nodes) print(explain(each, Date.now()));
}

/** Gate by gate what holds a node, and when it could reboot. Pure but for the colours. */
function explain(shown: Shown, now: number): string {
  const { node, booted, driver, holds, staged, message, nextPossible } = shown;
  const head = `${paint('bold', node)} runs ${booted} (${driver} driver)`;
  if (holds.length === 0) return `${head}: nothing holds it; ${message || 'no update is staged'}`;
  const lines = [`${head}, ${staged || 'nothing'} is staged, and it is held:`];
  for (const { gate, message: words, reason, since } of holds) {
    lines.push(`  ${gate.padEnd(12)} ${words}   (${reason}, for ${humanDuration(now - Date.parse(since))})`);
  }
  const event = holds.map(({ gate }) => gate).find((gate) => gate in hints);
  const next = nextPossible === undefined ? undefined : Date.parse(nextPossible);
  if (next !== undefined) {
    const wait = next > now ? `in ${humanDuration(next - now)}, ` : '';
    lines.push(
      `  ${'next'.padEnd(12)} not before ${wait}${nextPossible}${event === undefined ? '' : ', and then:'}`,
    );
  }
  if (event !== undefined || next === undefined) lines.push(`  ${'to do'.padEnd(12)} ${hintOf(event, node)}`);
  return lines.join('\n');
}

const hints: Record<string, string> = {
  marker_file: 'open a window: sluice window open --until 2h',
  fleet_lock: 'it goes on by itself when the slot is free; who holds it: sluice lock ls',
  config: 'mend what is named; see all of it with: sluice node config',
  clock: 'let the clock be synchronised, or declare it right: agent.clock = "trusted"',
  inhibitors: 'end the program that is named, or wait for it: it goes on at once',
  hooks: 'the program that is named decides; its directory is agent.hooks.directory',
  staged: 'ask for another release, or stage it by hand',
};

function hintOf(gate: string | undefined, node: string): string {
  if (gate === 'marker_file' && localNodeName !== node) return `${hints.marker_file} --nodes ${node}`;
  return hints[gate ?? ''] ?? 'it goes on by itself when nothing holds it any more';
}

const localNodeName = hostname();

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
      booted,
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
  await askNode(options.socket ?? hostSocket, 'POST /v1/approve', release === undefined ? {} : { release });
  note('approved: it reboots once, within the hour, when nothing else holds it (sluice node why)');
}
