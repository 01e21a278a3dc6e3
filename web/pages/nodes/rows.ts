import type { Node } from '../../../src/api/core.ts';
import type { FleetLockGroup, NodeUpdate, NodeUpdateStatusHold } from '../../../src/api/resources.ts';
import { openWindowOf } from '../../../src/api/window.ts';
import { conditionOf, controlPlaneOf, type Facts, notReady } from '../../data/facts.ts';

/** How a node's agent stands; `absent` where none has ever reported, `trouble` where it needs a person. */
export type NodeState = 'Idle' | 'Staging' | 'Held' | 'WaitingForSlot' | 'Finalizing' | 'trouble' | 'absent';

export const nodeStates: readonly NodeState[] = [
  'trouble',
  'Held',
  'WaitingForSlot',
  'Finalizing',
  'Staging',
  'Idle',
  'absent',
];

/** One node as the page shows it: its Node, its agent's report and its slot together. */
export interface NodeRow {
  readonly name: string;
  readonly controlPlane: boolean;
  readonly state: NodeState;
  readonly message: string;
  readonly booted: string;
  readonly staged: string;
  readonly holds: readonly NodeUpdateStatusHold[];
  readonly nextPossible: string | undefined;
  /** The window that was opened for it, while it is open. */
  readonly window:
    | { readonly notAfter: string; readonly once: boolean; readonly release: string }
    | undefined;
  readonly slot: Slot | undefined;
  /** Why its Node is not Ready. */
  readonly notReady: string | undefined;
}

/** A place in a group of nodes that may be away at once. */
export interface Slot {
  readonly group: string;
  readonly id: string;
  readonly node: string;
  readonly since: string;
  readonly state: string;
  readonly message: string;
}

export function slotsOf(locks: readonly FleetLockGroup[]): Slot[] {
  return locks.flatMap(({ metadata, status }) =>
    (status?.holders ?? []).map(({ id, node = '', since, state, message = '' }) => ({
      group: metadata.name,
      id,
      node,
      since,
      state,
      message,
    })),
  );
}

/** Every node that has a Node or an agent, those that need somebody first. */
export function nodeRows(facts: Pick<Facts, 'nodes' | 'updates' | 'locks'>, now: number): NodeRow[] {
  const nodes = new Map(facts.nodes.map((node) => [node.metadata.name, node]));
  const updates = new Map(facts.updates.map((update) => [update.metadata.name, update]));
  const slots = new Map(slotsOf(facts.locks).map((slot) => [slot.node, slot]));
  const controlPlane = new Set(controlPlaneOf(facts.nodes));
  const names = [...new Set([...nodes.keys(), ...updates.keys()])];
  const rows = names.map((name) =>
    rowOf(name, nodes.get(name), updates.get(name), slots.get(name), controlPlane, now),
  );
  const rank = ({ state, controlPlane }: NodeRow) => nodeStates.indexOf(state) * 2 + (controlPlane ? 0 : 1);
  return rows.sort((a, b) => rank(a) - rank(b) || compareNames(a.name, b.name));
}

const collator = new Intl.Collator('en', { numeric: true });

function compareNames(a: string, b: string): number {
  return collator.compare(a, b);
}

function rowOf(
  name: string,
  node: Node | undefined,
  update: NodeUpdate | undefined,
  slot: Slot | undefined,
  controlPlane: ReadonlySet<string>,
  now: number,
): NodeRow {
  const status = update?.status;
  const window = update === undefined ? undefined : openWindowOf(update, now);
  const degraded = conditionOf(update, 'Degraded');
  const troubled = degraded?.status === 'True';
  return {
    name,
    controlPlane: controlPlane.has(name),
    state: troubled ? 'trouble' : stateOf(status?.state),
    message: (troubled ? degraded.message : status?.message) ?? '',
    booted: status?.booted?.version ?? status?.booted?.image ?? '',
    staged: status?.staged?.version ?? status?.staged?.image ?? '',
    holds: status?.holds ?? [],
    nextPossible: status?.nextPossible,
    window:
      window === undefined
        ? undefined
        : { notAfter: window.notAfter, once: window.once ?? false, release: window.release ?? '' },
    slot,
    notReady: node === undefined ? undefined : notReady(node)?.message,
  };
}

function stateOf(word: string | undefined): NodeState {
  const known = nodeStates.find((each) => each === word);
  return known ?? 'absent';
}

/** What an address may narrow the nodes to: a state, or a gate that holds them first. */
export type NodeFilter =
  | { readonly kind: 'all' }
  | { readonly kind: 'state'; readonly state: NodeState }
  | { readonly kind: 'gate'; readonly gate: string };

export function readFilter(word: string | undefined): NodeFilter {
  if (word === undefined) return { kind: 'all' };
  const state = nodeStates.find((each) => each === word);
  return state === undefined ? { kind: 'gate', gate: word } : { kind: 'state', state };
}

function passes(row: NodeRow, filter: NodeFilter): boolean {
  switch (filter.kind) {
    case 'all':
      return true;
    case 'state':
      return row.state === filter.state;
    case 'gate':
      return row.staged !== '' && row.holds[0]?.gate === filter.gate;
  }
}

/** @param text is looked for in every word that is shown, whatever its case. */
export function filterNodes(rows: readonly NodeRow[], filter: NodeFilter, text: string): NodeRow[] {
  const sought = text.trim().toLowerCase();
  return rows.filter((row) => {
    if (!passes(row, filter)) return false;
    if (sought === '') return true;
    const { name, message, booted, staged, holds } = row;
    const words = [
      name,
      message,
      booted,
      staged,
      ...holds.flatMap(({ gate, reason, message }) => [gate, reason, message]),
    ];
    return words.some((word) => word.toLowerCase().includes(sought));
  });
}

/** The version that all of them have staged; undefined where they differ, or nothing is staged. */
export function stagedByAll(rows: readonly NodeRow[]): string | undefined {
  const [first = '', ...others] = new Set(rows.map(({ staged }) => staged));
  return first === '' || others.length > 0 ? undefined : first;
}

/** How many nodes stand how. */
export function countStates(rows: readonly NodeRow[]): ReadonlyMap<NodeState, number> {
  const counts = new Map<NodeState, number>();
  for (const { state } of rows) counts.set(state, (counts.get(state) ?? 0) + 1);
  return counts;
}
