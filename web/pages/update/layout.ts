import { newestFirst } from '../../../src/gates/version.ts';

/** A version in the picture: columns from old to new, rows within one column. */
export interface Place {
  readonly version: string;
  readonly column: number;
  readonly row: number;
}

export interface Edge {
  readonly from: string;
  readonly to: string;
}

/**
 * Places versions so that every way leads to the right: a version stands one column behind the last of those that lead
 * to it. Ways in a circle, which no release should have, are cut at the version that is reached twice.
 */
export function placesOf(versions: readonly string[], edges: readonly Edge[]): Place[] {
  const before = new Map<string, string[]>();
  for (const { from, to } of edges) before.set(to, [...(before.get(to) ?? []), from]);
  const columns = new Map<string, number>();
  const columnOf = (version: string, way: ReadonlySet<string>): number => {
    const known = columns.get(version);
    if (known !== undefined) return known;
    const from = (before.get(version) ?? []).filter((each) => !way.has(each) && each !== version);
    const through = new Set([...way, version]);
    const column = Math.max(-1, ...from.map((each) => columnOf(each, through))) + 1;
    columns.set(version, column);
    return column;
  };
  const rows = new Map<number, number>();
  return [...new Set(versions)]
    .sort((a, b) => newestFirst(b, a))
    .map((version) => {
      const column = columnOf(version, new Set());
      const row = rows.get(column) ?? 0;
      rows.set(column, row + 1);
      return { version, column, row };
    });
}
