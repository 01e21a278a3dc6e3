import type {
  UpdatePreflight,
  UpdatePreflightStatusCheck,
  UpdatePreflightStatusHistory,
} from '../../../src/api/resources.ts';

/** Results as they are counted, those that matter first: a risk that only informs stands in nobody's way. */
export const results = ['Risk', 'Error', 'Running', 'Info', 'Skipped', 'Passed'] as const;
export type Result = (typeof results)[number];

/** What a check counts as. */
function countedAs({ result, severity }: UpdatePreflightStatusCheck): Result {
  return result === 'Risk' && severity === 'info' ? 'Info' : result;
}

/** Reports, the one that was worked on last first. */
export function newestReports(preflights: readonly UpdatePreflight[]): UpdatePreflight[] {
  return [...preflights].sort((a, b) => timeOf(b) - timeOf(a));
}

function timeOf({ metadata, status }: UpdatePreflight): number {
  return Date.parse(status?.finishedAt ?? status?.startedAt ?? metadata.creationTimestamp ?? '') || 0;
}

/** What a report is about, as a person names it. */
export function targetOf({ spec, status }: UpdatePreflight): string {
  return status?.target?.version ?? spec.version ?? status?.target?.image ?? spec.image ?? '';
}

/** How many checks came to each result. */
export function countResults(checks: readonly UpdatePreflightStatusCheck[]): Record<Result, number> {
  const counts: Record<Result, number> = { Risk: 0, Error: 0, Running: 0, Info: 0, Skipped: 0, Passed: 0 };
  for (const check of checks) counts[countedAs(check)] += 1;
  return counts;
}

/**
 * The checks that a person wants to see.
 *
 * @param wanted results; empty means all. `text` is looked for in every word that is shown, whatever its case.
 */
export function filterChecks(
  checks: readonly UpdatePreflightStatusCheck[],
  wanted: ReadonlySet<Result>,
  text: string,
): UpdatePreflightStatusCheck[] {
  const sought = text.trim().toLowerCase();
  return checks.filter((check) => {
    if (wanted.size > 0 && !wanted.has(countedAs(check))) return false;
    if (sought === '') return true;
    const { name, component = '', reason = '', message = '', next = '', objects = [] } = check;
    return [name, component, reason, message, next, ...objects].some((each) =>
      each.toLowerCase().includes(sought),
    );
  });
}

/** Whether a finding can be let through by name: only risks can, errors never. */
export function canAccept({ result, severity }: UpdatePreflightStatusCheck): boolean {
  return result === 'Risk' && severity !== 'info';
}

/** What a report is compared with. */
export type Other =
  | { readonly kind: 'report'; readonly object: UpdatePreflight }
  | { readonly kind: 'run'; readonly run: UpdatePreflightStatusHistory };

/** What `?with=` names: another report, or `run:` and the id of an earlier run of the same one. */
export function otherOf(
  word: string | undefined,
  object: UpdatePreflight,
  preflights: readonly UpdatePreflight[],
): Other | undefined {
  if (word === undefined) return undefined;
  if (word.startsWith(runPrefix)) {
    const run = object.status?.history?.find(({ runID }) => runID === word.slice(runPrefix.length));
    return run === undefined ? undefined : { kind: 'run', run };
  }
  const other = preflights.find(({ metadata }) => metadata.name === word);
  return other === undefined ? undefined : { kind: 'report', object: other };
}

export const runPrefix = 'run:';

export interface ComparedRow {
  readonly name: string;
  readonly component: string;
  /** Undefined where it has no such check. */
  readonly here: string | undefined;
  /** `quiet`: an earlier run keeps only what stood out; this did not. `unknown`: it keeps nothing. */
  readonly there: string | undefined | 'quiet' | 'unknown';
  readonly differs: boolean;
}

/** Two reports side by side, what differs first. */
export function compareReports(object: UpdatePreflight, other: Other): ComparedRow[] {
  const here = rowsByName(object.status?.checks ?? []);
  const there =
    other.kind === 'report'
      ? rowsByName(other.object.status?.checks ?? [])
      : new Map((other.run.findings ?? []).map((each) => [each.name, { ...each, component: '' }]));
  const absent = other.kind === 'report' ? undefined : other.run.findings === undefined ? 'unknown' : 'quiet';
  const names = [...new Set([...here.keys(), ...there.keys()])];
  const rows = names.map((name): ComparedRow => {
    const mine = here.get(name);
    const theirs = there.get(name)?.result ?? absent;
    const isFinding = mine?.result === 'Risk' || mine?.result === 'Error';
    const differs = theirs === 'quiet' ? isFinding : theirs === 'unknown' ? false : theirs !== mine?.result;
    return {
      name,
      component: mine?.component ?? there.get(name)?.component ?? '',
      here: mine?.result,
      there: theirs,
      differs,
    };
  });
  return rows.sort((a, b) => Number(b.differs) - Number(a.differs));
}

function rowsByName(checks: readonly UpdatePreflightStatusCheck[]) {
  return new Map(checks.map((check) => [check.name, check]));
}
