import { listed } from '../gates/outcome.ts';
import { counted } from '../observe/count.ts';
import { humanDuration, paint } from './output.ts';

/** A node as its agent reports it, over its socket or into the cluster. */
export interface ShownNode {
  readonly node: string;
  readonly state: string;
  readonly driver: string;
  readonly bootID: string;
  /** Absent where the node runs no OS image of a release. */
  readonly booted?: string;
  readonly staged: string;
  readonly message: string;
  readonly strategies: readonly string[];
  readonly holds: readonly { gate: string; reason: string; message: string; since: string }[];
  readonly nextPossible?: string;
  /** What else a person must be told: keys without effect, a graph that does not answer, a dead end. */
  readonly notes: readonly string[];
  /** Over its socket, on its own machine. */
  readonly local: boolean;
  /** As it was reported, for programs. */
  readonly whole: unknown;
}

const notesMax = 4;

/** Gate by gate what holds a node, since when, and when it could reboot: one screen. Pure but for the colours. */
export function explainNode(shown: ShownNode, now: number): string {
  const { node, state, driver, holds, notes } = shown;
  const booted = shown.booted ?? (state === 'Unknown' ? 'an unknown system' : 'no OS image of a release');
  const more = notes.length > notesMax ? [`and ${notes.length - notesMax} more: sluice node config`] : [];
  return [
    `${paint('bold', node)} runs ${booted} (${driver} driver)${headOf(shown)}`,
    ...holds.map(({ gate, message, reason, since }) =>
      line(gate, `${message}   (${reason}, for ${humanDuration(now - Date.parse(since))})`),
    ),
    ...(holds.length === 0 ? [] : next(shown, now)),
    ...[...notes.slice(0, notesMax), ...more].map((note) => line('note', note)),
  ].join('\n');
}

/**
 * Many nodes: how many there are of each state, then each reason why some are held, the most frequent first, with the
 * node that it has held longest in full.
 */
export function explainFleet(nodes: readonly ShownNode[], now: number): string {
  const states = groupBy(nodes, ({ state }) => [state]);
  const counts = states.map(([state, { length }]) => `${length} ${state}`).join(', ');
  const held = groupBy(nodes, ({ holds }) => holds.map(({ gate, reason }) => `${gate} (${reason})`));
  const blocks = held.map(([what, members]) => {
    const since = ({ holds }: ShownNode) =>
      Math.min(
        ...holds.flatMap((each) => (`${each.gate} (${each.reason})` === what ? Date.parse(each.since) : [])),
      );
    const byAge = [...members].sort((a, b) => since(a) - since(b));
    const [oldest] = byAge;
    const title = `${what}: ${counted(members.length, 'node')}`;
    return [
      '',
      `${paint('bold', title)}, longest ${listed(byAge.map(({ node }) => node))}`,
      ...(oldest === undefined ? [] : [explainNode(oldest, now)]),
    ].join('\n');
  });
  return [
    `${counted(nodes.length, 'node')}: ${counts}. Each one in full: sluice node why NODE, or all with -o wide`,
    ...blocks,
  ].join('\n');
}

/** The most frequent first. */
function groupBy<T>(all: readonly T[], keysOf: (one: T) => readonly string[]): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const one of all)
    for (const key of new Set(keysOf(one))) {
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [one]);
      else group.push(one);
    }
  return [...groups].sort(([, a], [, b]) => b.length - a.length);
}

const line = (name: string, text: string) => `  ${name.padEnd(12)} ${text}`;

function headOf({ state, booted, staged, holds, message, strategies }: ShownNode): string {
  const version = staged === '' ? 'nothing' : staged;
  switch (state) {
    case 'Staging':
      return ': it downloads and stages another system; nothing holds it';
    case 'Finalizing':
      return `, ${version} is staged, and the reboot was ordered`;
    case 'Unknown':
      return ': its agent has not reported yet';
    default:
      if (holds.length > 0) return `, ${version} is staged, and it is held${ruleOf(strategies)}:`;
      if (booted === undefined) return ': nothing holds it; a release that has none reboots no node';
      return `: nothing holds it; ${message || 'no update is staged'}`;
  }
}

function ruleOf(strategies: readonly string[]): string {
  if (strategies.length === 0) return '';
  return ` (${strategies.length === 1 ? strategies[0] : `${strategies.join(' and ')} must all allow`})`;
}

/** The earliest moment, and what each gate that does not open by itself waits for. */
function next({ holds, nextPossible, state, ...shown }: ShownNode, now: number): string[] {
  const lines: string[] = [];
  const at = nextPossible === undefined ? undefined : Date.parse(nextPossible);
  const hints = holds.map((hold) => hintOf(hold, shown)).filter((hint) => hint !== undefined);
  if (at !== undefined) {
    const wait = at > now ? `in ${humanDuration(at - now)}, ` : '';
    if (state === 'Finalizing') {
      lines.push(line('next', `where it does not come, it is ordered again ${wait}${nextPossible}`));
    } else {
      const then = hints.length === 0 ? '' : ', and when this has happened too:';
      lines.push(line('next', `not before ${wait}${nextPossible}${then}`));
    }
  }
  const unique = [...new Set(hints)];
  if (unique.length === 0 && at === undefined)
    unique.push('it goes on by itself when nothing holds it any more');
  return [...lines, ...unique.map((hint) => line('to do', hint))];
}

const hints: Readonly<Record<string, string>> = {
  config: 'mend what is named; see all of it with: sluice node config',
  clock: 'let the clock be synchronised, or declare it right: agent.clock = "trusted"',
  inhibitors: 'end the program that is named, or wait for it: it goes on at once',
  hooks: 'the program that is named decides; its directory is agent.hooks.directory',
};

/** What a person can do about a hold; undefined where it opens by its own time. */
function hintOf(
  { gate, reason }: { gate: string; reason: string },
  { node, local }: { readonly node: string; readonly local: boolean },
): string | undefined {
  switch (gate) {
    case 'marker_file':
      return `open a window: sluice window open --until 2h${local ? '' : ` --nodes ${node}`}`;
    case 'fleet_lock':
      if (reason === 'DuplicateId') return 'give one of the two hosts an id of its own: identity.node_uuid';
      if (reason === 'NoSecret' || reason === 'Refused')
        return 'mend what the lock server says; it is asked again by itself';
      return `it goes on by itself when the slot is free${local ? '' : '; who holds it: sluice lock ls'}`;
    case 'staged':
      if (reason === 'StageFailed') return 'mend what is named; it is tried again by itself';
      return reason === 'StagedByOther'
        ? 'finalize or drop what the other has staged; then this one is staged'
        : 'ask for another release, or stage it by hand';
    default:
      return hints[gate];
  }
}
