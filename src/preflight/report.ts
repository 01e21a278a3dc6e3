import type { UpdatePreflightSpec, UpdatePreflightStatusCheck } from '../api/resources.ts';
import type { CheckOutcome } from '../gates/check.ts';
import { type Finding, isAccepted } from '../gates/finding.ts';
import { coverageCheck } from '../gates/preflight.ts';
import { cleanText } from '../gates/result.ts';
import { type ReportJudgement, verdictOf } from '../gates/verdict.ts';
import { counted } from '../observe/count.ts';
import type { ReleaseCheck, ReleaseChecks } from './checks.ts';

/** One row of a report. */
export type Row = UpdatePreflightStatusCheck;

/** The row that names the components which ship no check. */
export const noCheck = 'NoCheck';

/** Rows of a report; what is over is told in its last row. */
export const rowsMax = 400;
/** Characters of one row's message: with `rowsMax` it keeps a report far below what the API stores. */
const rowMessageCharsMax = 1500;
/** Characters of the list of components that ship no check: a large release has hundreds. */
const listCharsMax = 4000;
const objectsMax = 20;
const objectCharsMax = 500;

/** The rows of a built-in finding: it carries no component. */
export function builtinRow(finding: Finding): Row {
  return {
    name: finding.name,
    result: finding.result,
    ...(isOver(finding.result) ? {} : { severity: finding.severity }),
    reason: finding.gate,
    message: cleanText(finding.message, rowMessageCharsMax),
    ...(finding.next === undefined ? {} : { next: cleanText(finding.next, rowMessageCharsMax) }),
    ...objectsOf(finding.objects),
  };
}

/** A result without anything to weigh: what it would have been is not told. */
function isOver(result: Row['result']): boolean {
  return result === 'Passed' || result === 'Skipped';
}

/** The rows of a check: one for each risk that it found, else one for itself. */
export function checkRows(check: ReleaseCheck, outcome: CheckOutcome, job: string): Row[] {
  const base = { component: check.component, job };
  if (outcome.result !== 'Risk') {
    return [
      {
        ...base,
        name: check.name,
        result: outcome.result,
        ...(isOver(outcome.result) ? {} : { severity: 'blocking' as const, reason: outcome.reason }),
        message: cleanText(outcome.message, rowMessageCharsMax),
      },
    ];
  }
  return outcome.risks.map((risk) => ({
    ...base,
    name: risk.name,
    result: 'Risk',
    severity: risk.severity,
    reason: outcome.reason,
    message: cleanText(risk.message, rowMessageCharsMax),
    ...nextOf(risk),
    ...objectsOf(risk.objects),
  }));
}

/** The rows that tell what of the release was looked at at all, and what was not. */
export function coverageRows({ checks, without, unreadable }: ReleaseChecks): Row[] {
  const broken = unreadable.map(
    ({ component, name, message }): Row => ({
      name,
      component,
      result: 'Error',
      severity: 'blocking',
      reason: 'ManifestInvalid',
      message: cleanText(message, rowMessageCharsMax),
    }),
  );
  const count = checks.length + unreadable.length;
  const coverage: Row = {
    name: coverageCheck,
    component: 'release',
    result: 'Passed',
    severity: 'blocking',
    reason: count === 0 ? 'NoChecks' : 'ChecksRead',
    message: count === 0 ? 'the release ships no checks' : `the release ships ${counted(count, 'check')}`,
  };
  const skipped: Row = {
    name: noCheck,
    component: 'release',
    result: 'Skipped',
    reason: noCheck,
    message: cleanText(
      `${counted(without.length, 'component ships', 'components ship')} no check: ${without.join(', ')}`,
      listCharsMax,
    ),
  };
  return [coverage, ...broken, ...(without.length === 0 ? [] : [skipped])];
}

/** The row of a release whose checks could not be found out. */
export function unreadRow(reason: string, message: string): Row {
  return {
    name: coverageCheck,
    component: 'release',
    result: 'Error',
    severity: 'blocking',
    reason,
    message: cleanText(message, rowMessageCharsMax),
  };
}

/** A report: rows in their order, with what is accepted marked and since when each stands so; and the verdict. */
export interface Report extends ReportJudgement {
  readonly checks: Row[];
}

/**
 * @param before the rows that stood in the status: a row whose result is the same keeps its time.
 * @param now RFC 3339.
 */
export function buildReport(
  rows: readonly Row[],
  accepted: ReadonlySet<string>,
  before: readonly Row[],
  now: string,
): Report {
  const since = new Map(before.map((row) => [rowKey(row), row.since]));
  const findings = rows.map(rowFinding);
  const checks = rows
    .map((row, index): Row => {
      const finding = findings[index];
      const isTaken = finding !== undefined && isAccepted(finding, accepted);
      const { accepted: _, since: __, ...rest } = row;
      return { ...rest, since: since.get(rowKey(row)) ?? now, ...(isTaken ? { accepted: true } : {}) };
    })
    .sort(
      (a, b) =>
        rank(a) - rank(b) || compareText(a.component ?? '', b.component ?? '') || compareText(a.name, b.name),
    );
  return { ...verdictOf(findings, accepted), checks: fitted(bounded(checks)) };
}

/** Names of the risks that spec accepts. */
export function acceptedNames(spec: UpdatePreflightSpec): Set<string> {
  return new Set((spec.acceptedRisks ?? []).map((risk) => risk.name));
}

function rowFinding(row: Row): Finding {
  return {
    name: row.name,
    gate: row.component === undefined ? (row.reason ?? '') : 'preflight',
    severity: row.severity ?? 'blocking',
    result: row.result,
    message: row.message ?? '',
    ...(row.component === undefined ? {} : { component: row.component }),
  };
}

function rowKey(row: Row): string {
  return JSON.stringify([row.component ?? '', row.name, row.result, row.job ?? '']);
}

/** What blocks comes first, then what is not known, what warns, what runs; what passed and was skipped last. */
function rank(row: Row): number {
  const blocking = row.severity !== 'warning' && row.severity !== 'info' && row.accepted !== true;
  switch (row.result) {
    case 'Risk':
      return blocking ? 0 : 2;
    case 'Error':
      return blocking ? 1 : 2;
    case 'Running':
      return 3;
    case 'Passed':
      return 4;
    case 'Skipped':
      return 5;
  }
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A list that is too long keeps what blocks. Where more than what passed had to go, that is an error. */
function bounded(rows: Row[]): Row[] {
  if (rows.length <= rowsMax) return rows;
  const cut = rows.slice(rowsMax - 1);
  const message = `${rows.length} rows are more than the ${rowsMax} that a report holds`;
  const told = {
    ...unreadRow('ReportTooLong', message),
    name: 'ReportTooLong',
    ...(cut.every((row) => isOver(row.result)) ? { result: 'Skipped' as const } : {}),
  };
  return [...rows.slice(0, rowsMax - 1), told];
}

/** Bytes of all rows as JSON: with the rest of the status a report stays below 16 KiB where that is possible. */
const rowsBytesMax = 14 * 1024;

/** Ways to say less, each tried only where the ones before were not enough. The Job's log holds all of it. */
const shorter: readonly ((row: Row) => Row)[] = [
  (row) => (isOver(row.result) ? shortened(row, 60) : row),
  (row) => (isOver(row.result) ? row : shortened(row, 400)),
  (row) => (isOver(row.result) && row.job !== undefined ? without(row, 'message', 'since') : row),
  (row) => (isOver(row.result) ? row : shortened(without(row, 'objects'), 160)),
];

function fitted(rows: Row[]): Row[] {
  let fitting = rows;
  for (const shorten of shorter) {
    if (Buffer.byteLength(JSON.stringify(fitting)) <= rowsBytesMax) return fitting;
    fitting = fitting.map((row) => (row.name === noCheck || row.name === coverageCheck ? row : shorten(row)));
  }
  return fitting;
}

function shortened(row: Row, charsMax: number): Row {
  return {
    ...row,
    ...(row.message === undefined ? {} : { message: cleanText(row.message, charsMax) }),
    ...(row.next === undefined ? {} : { next: cleanText(row.next, charsMax) }),
  };
}

function without(row: Row, ...keys: (keyof Row)[]): Row {
  return Object.fromEntries(
    Object.entries(row).filter(([key]) => !keys.includes(key as keyof Row)),
  ) as unknown as Row;
}

function nextOf(risk: { next?: string; url?: string }): { next?: string } {
  const next = [risk.next, risk.url].filter((part) => part !== undefined).join(' ');
  return next === '' ? {} : { next: cleanText(next, rowMessageCharsMax) };
}

function objectsOf(objects: readonly string[] | undefined): { objects?: string[] } {
  if (objects === undefined || objects.length === 0) return {};
  return { objects: objects.slice(0, objectsMax).map((object) => cleanText(object, objectCharsMax)) };
}
