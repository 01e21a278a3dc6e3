import type { Condition } from '../api/core.ts';
import type { InternalReleaseImage, NodeUpdate, NodeUpdateStatusCopy } from '../api/resources.ts';
import type { KnownBundle } from '../release/known.ts';
import type { ProgressRow } from './progress.ts';

/** One release as people see it, from what the API says. */
export interface ReleaseRow {
  readonly name: string;
  readonly version: string;
  readonly image: string;
  /** One word: Available, Installing, Mounted, Removing, Degraded, Missing. */
  readonly state: string;
  readonly heldBy: readonly string[];
  /** Why it is in use; undefined where it is not, or nobody can tell. */
  readonly inUse: string | undefined;
  readonly message: string;
  /** The disk that brought it is needed no more. */
  readonly diskFree: boolean;
}

export interface ReleaseFacts {
  readonly object: InternalReleaseImage | undefined;
  readonly bundles: readonly KnownBundle[];
  readonly inUse: ReadonlyMap<string, string>;
}

export function releaseRows(facts: ReleaseFacts): ReleaseRow[] {
  const shown = facts.object?.status?.releases ?? [];
  const asked = facts.object?.spec.releases.map((each) => each.name) ?? [];
  const names = new Set([
    ...asked,
    ...shown.map((each) => each.name),
    ...facts.bundles.map((each) => each.name),
  ]);
  return [...names].sort(byVersion).map((name) => {
    const entry = shown.find((each) => each.name === name);
    const bundle = facts.bundles.find((each) => each.name === name);
    const is = (type: string) => conditionOf(entry?.conditions, type)?.status === 'True';
    const available = is('Available');
    return {
      name,
      version: bundle?.version ?? versionOf(name),
      image: entry?.image ?? '',
      ...stateOf(entry?.conditions),
      heldBy: bundle?.heldBy ?? [],
      inUse: facts.inUse.get(name),
      diskFree: available && is('Mounted'),
    };
  });
}

function stateOf(conditions: readonly Condition[] | undefined): { state: string; message: string } {
  const of = (type: string) => conditionOf(conditions, type);
  const degraded = of('Degraded');
  const trouble = degraded?.status === 'True' ? degraded.message : '';
  for (const type of ['Removing', 'Installing'] as const) {
    const condition = of(type);
    if (condition?.status !== 'True') continue;
    // The cause first: how far it has come before is not what a person must know.
    return { state: type, message: [trouble, condition.message].filter((each) => each !== '').join('; ') };
  }
  if (of('Available')?.status === 'True') {
    return { state: trouble === '' ? 'Available' : 'Available, degraded', message: trouble };
  }
  if (degraded?.status === 'True') return { state: 'Degraded', message: degraded.message };
  if (of('Mounted')?.status === 'True') return { state: 'Mounted', message: of('Mounted')?.message ?? '' };
  return { state: conditions === undefined ? 'Unknown' : 'Missing', message: of('Available')?.message ?? '' };
}

/** Characters of a message in a table; the whole of it is in `release status`. */
const cellMax = 160;

/** A message as a table has place for it: its beginning, where the cause is. */
export function messageCell(message: string): string {
  const line = message.replace(/\s*\n\s*/g, ' ');
  return line.length > cellMax ? `${line.slice(0, cellMax - 1).trimEnd()}…` : line;
}

export function conditionOf(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((each) => each.type === type);
}

/** How far one node is with one release. */
export interface NodeProgress extends ProgressRow {
  /** Images that are whole, of all. */
  readonly images?: { readonly done: number; readonly total: number };
  readonly secondsLeft?: number;
}

/** How far each node is with one release. */
export function progressRows(
  release: string,
  updates: readonly NodeUpdate[],
  nodes: readonly string[],
): NodeProgress[] {
  return nodes.map((label) => {
    const status = updates.find((each) => each.metadata.name === label)?.status;
    const held = status?.store?.find((each) => each.name === release);
    if (held !== undefined) {
      const bytes = held.bytes ?? 0;
      return { label, done: bytes, total: bytes, state: 'verified' };
    }
    const copy = status?.copies?.find((each) => each.release === release);
    if (copy === undefined) return { label, done: 0, total: 0, state: 'waiting' };
    return { ...rowOf(label, copy), ...stateOfCopy(copy) };
  });
}

function rowOf(label: string, copy: NodeUpdateStatusCopy): NodeProgress {
  const row = { label, done: copy.bytesDone ?? 0, total: copy.bytesTotal ?? 0 };
  const { imagesDone: done, imagesTotal: total } = copy;
  return done === undefined || total === undefined ? row : { ...row, images: { done, total } };
}

function stateOfCopy(copy: NodeUpdateStatusCopy): Pick<NodeProgress, 'rate' | 'secondsLeft' | 'state'> {
  const { rate, secondsLeft } = copy;
  switch (copy.state) {
    case 'Copying':
    case 'Verifying':
      return {
        ...(copy.state === 'Verifying' ? { state: 'verifying' } : {}),
        ...(rate === undefined ? {} : { rate }),
        ...(secondsLeft === undefined ? {} : { secondsLeft }),
      };
    default:
      return { state: `${copy.state?.toLowerCase()}: ${copy.reason ?? ''}` };
  }
}

/** Seconds until every node that copies now is done with it; undefined where one cannot say. */
export function secondsUntilDone(rows: readonly NodeProgress[]): number | undefined {
  const moving = rows.filter((row) => row.state !== 'verified');
  const left = moving.map((row) => row.secondsLeft);
  if (left.length === 0 || left.some((each) => each === undefined)) return undefined;
  return Math.max(...left.map((each) => each ?? 0));
}

/** A release as data, with how far each node is. */
export function releaseData(row: ReleaseRow, progress: readonly NodeProgress[]): object {
  return {
    ...row,
    secondsLeft: secondsUntilDone(progress),
    nodes: progress.map(({ label, ...each }) => ({ node: label, state: 'copying', ...each })),
  };
}

/**
 * The full name of what a person wrote: a bundle's name as it is, a version by what is at hand.
 * Undefined where nothing fits; several where a version stands for more than one architecture.
 */
export function matchRelease(text: string, names: readonly string[]): string[] {
  if (text.startsWith(prefix)) return [text];
  return names.filter((name) => versionOf(name) === text);
}

const prefix = 'ocp-release-bundle-';

function versionOf(name: string): string {
  return name.slice(prefix.length).replace(/-[^-]*$/, '');
}

function byVersion(left: string, right: string): number {
  return left.localeCompare(right, 'en', { numeric: true });
}
