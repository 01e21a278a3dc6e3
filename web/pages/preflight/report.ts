import type {
  UpdatePreflight,
  UpdatePreflightStatusCheck,
  UpdatePreflightStatusHistory,
} from '../../../src/api/resources.ts';
import { type CheckState, checkStateOf } from '../../data/checks.ts';

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

/**
 * The checks that a person wants to see.
 *
 * @param wanted how they stand; empty means all. `text` is looked for in every word that is shown, whatever its case.
 */
export function filterChecks(
  checks: readonly UpdatePreflightStatusCheck[],
  wanted: ReadonlySet<CheckState>,
  text: string,
): UpdatePreflightStatusCheck[] {
  const sought = text.trim().toLowerCase();
  return checks.filter((check) => {
    if (wanted.size > 0 && !wanted.has(checkStateOf(check))) return false;
    if (sought === '') return true;
    const { name, component = '', reason = '', message = '', next = '', objects = [] } = check;
    return [name, component, reason, message, next, ...objects].some((each) =>
      each.toLowerCase().includes(sought),
    );
  });
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
  readonly here: CheckState | undefined;
  /** `quiet`: an earlier run keeps only what stood out; this did not. `unknown`: it keeps nothing. */
  readonly there: CheckState | undefined | 'quiet' | 'unknown';
  readonly differs: boolean;
}

/** Two reports side by side, what differs first. */
export function compareReports(object: UpdatePreflight, other: Other): ComparedRow[] {
  const here = byName(object.status?.checks ?? []);
  const rows =
    other.kind === 'report'
      ? comparedWithReport(here, byName(other.object.status?.checks ?? []))
      : comparedWithRun(here, other.run.findings);
  return rows.sort((a, b) => Number(b.differs) - Number(a.differs));
}

type Checks = ReadonlyMap<string, UpdatePreflightStatusCheck>;

function byName(checks: readonly UpdatePreflightStatusCheck[]): Checks {
  return new Map(checks.map((check) => [check.name, check]));
}

function comparedWithReport(mine: Checks, theirs: Checks): ComparedRow[] {
  return [...new Set([...mine.keys(), ...theirs.keys()])].map((name) => {
    const [check, other] = [mine.get(name), theirs.get(name)];
    const here = check === undefined ? undefined : checkStateOf(check);
    const there = other === undefined ? undefined : checkStateOf(other);
    return { name, component: (check ?? other)?.component ?? '', here, there, differs: here !== there };
  });
}

/** An earlier run keeps the results of what stood out, without their weight. */
function comparedWithRun(mine: Checks, findings: UpdatePreflightStatusHistory['findings']): ComparedRow[] {
  const theirs = new Map(findings?.map(({ name, result }) => [name, result]));
  return [...new Set([...mine.keys(), ...theirs.keys()])].map((name) => {
    const check = mine.get(name);
    const result = theirs.get(name);
    const here = check === undefined ? undefined : checkStateOf(check);
    const isFinding = check?.result === 'Risk' || check?.result === 'Error';
    return {
      name,
      component: check?.component ?? '',
      here,
      there: findings === undefined ? 'unknown' : result === undefined ? 'quiet' : stateOfFinding(result),
      differs: findings !== undefined && (result === undefined ? isFinding : result !== check?.result),
    };
  });
}

function stateOfFinding(result: string): CheckState {
  return result === 'Error' ? 'error' : 'risk';
}
