import type { UpdatePreflight } from '../api/resources.ts';
import { parseDuration } from '../gates/duration.ts';
import { mayBeHarmless, openPGPFinding } from '../gates/finding.ts';
import { type Colour, humanDuration } from './output.ts';

type Row = NonNullable<NonNullable<UpdatePreflight['status']>['checks']>[number];

/** A report made ready to print: words, and the colour that each has on a terminal. */
export interface ReportView {
  readonly heading: string;
  readonly verdict: { readonly text: string; readonly colour: Colour };
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly colours: readonly Colour[];
  /** What the table leaves out. */
  readonly note?: string;
  /** What to do, one line each. */
  readonly next: readonly string[];
}

const maxAgeDefault = '24h';
const digestCharsShown = 19;

/**
 * @param options.wide all rows; without it, components that ship no check are only counted.
 * @param options.nothingFollows no update to the release follows from it: neither that nor accepting is offered.
 * @param now milliseconds since the epoch.
 */
export function reportView(
  object: UpdatePreflight,
  now: number,
  options: { wide?: boolean; nothingFollows?: boolean } = {},
): ReportView {
  const { status } = object;
  const checks = status?.checks ?? [];
  const shown = options.wide === true ? checks : checks.filter((row) => row.reason !== 'NoCheck');
  const hidden = checks.find((row) => row.reason === 'NoCheck' && options.wide !== true)?.message;
  const note = hidden === undefined ? undefined : `${hidden.split(':', 1)[0]} (-o wide names them).`;
  return {
    heading: headingOf(object, now),
    verdict: verdictOf(object),
    columns: ['CHECK', 'COMPONENT', 'RESULT', 'SINCE', 'SUMMARY'],
    rows: shown.map((row) => [
      row.name,
      row.component ?? '-',
      resultOf(row),
      row.since === undefined ? '-' : humanDuration(now - Date.parse(row.since)),
      summaryOf(row),
    ]),
    colours: shown.map(colourOf),
    ...(note === undefined ? {} : { note }),
    next: nextOf(object, checks, options.nothingFollows === true),
  };
}

/** Lines of one summary that a terminal shows; -o wide shows all of it. */
const summaryLinesMax = 3;
/** Columns below which a summary is not wrapped any narrower. */
const summaryColumnsMin = 30;

/**
 * The rows with their summaries wrapped, so that a table keeps its columns on a terminal.
 *
 * @param columns of the terminal; undefined where the output is no terminal: then nothing is wrapped.
 */
export function wrapRows(
  view: Pick<ReportView, 'columns' | 'rows'>,
  columns: number | undefined,
): string[][][] {
  if (columns === undefined) return view.rows.map((row) => [[...row]]);
  const last = view.columns.length - 1;
  const widths = view.columns
    .slice(0, last)
    .map((heading, index) => Math.max(heading.length, ...view.rows.map((row) => (row[index] ?? '').length)));
  const before = widths.reduce((sum, width) => sum + width + 3, 0);
  const width = Math.max(summaryColumnsMin, columns - before - 1);
  return view.rows.map((row) => {
    const [first = '', ...rest] = wrapText(row[last] ?? '', width);
    return [[...row.slice(0, last), first], ...rest.map((line) => [...widths.map(() => ''), line])];
  });
}

function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line === '') line = word;
    else if (line.length + 1 + word.length <= width) line += ` ${word}`;
    else {
      lines.push(line);
      line = word;
    }
  }
  lines.push(line);
  if (lines.length <= summaryLinesMax) return lines;
  const kept = lines.slice(0, summaryLinesMax);
  return [...kept.slice(0, -1), `${(kept.at(-1) ?? '').slice(0, width - 1)}…`];
}

function headingOf({ status, spec, metadata }: UpdatePreflight, now: number): string {
  const target = status?.target;
  const version = target?.version ?? spec.version ?? spec.image ?? 'a release';
  const digest = target?.digest === undefined ? '' : ` (${target.digest.slice(0, digestCharsShown)}…)`;
  const source = status?.source?.version === undefined ? '' : ` from ${status.source.version}`;
  const run = status?.runID === undefined ? '' : `  run ${status.runID}`;
  return `Preflight ${metadata.name} for ${version}${digest}${source}${run}${timesOf(status, spec, now)}`;
}

function timesOf(status: UpdatePreflight['status'], spec: UpdatePreflight['spec'], now: number): string {
  const started = Date.parse(status?.startedAt ?? '');
  const finished = Date.parse(status?.finishedAt ?? '');
  if (Number.isNaN(started)) return '';
  if (Number.isNaN(finished)) return `, running for ${humanDuration(now - started)}`;
  const left = finished + parseDuration(spec.maxAge ?? maxAgeDefault) - now;
  const age = left > 0 ? `valid for ${humanDuration(left)}` : 'too old to count';
  return `, took ${humanDuration(finished - started)}, ${age}`;
}

function verdictOf({ status }: UpdatePreflight): ReportView['verdict'] {
  const verdict = status?.verdict ?? 'Running';
  const colour: Colour =
    verdict === 'Passed'
      ? 'green'
      : verdict === 'Running'
        ? 'cyan'
        : verdict === 'Blocked'
          ? 'red'
          : 'yellow';
  return { text: `${verdict.toUpperCase()}: ${status?.message ?? 'waits for a controller'}`, colour };
}

function resultOf(row: Row): string {
  if (row.accepted === true) return 'Accepted';
  if (row.result === 'Risk' && row.severity === 'warning') return 'Warning';
  if (row.result === 'Risk' && row.severity === 'info') return 'Info';
  return row.result;
}

function colourOf(row: Row): Colour {
  switch (resultOf(row)) {
    case 'Risk':
    case 'Error':
      return 'red';
    case 'Warning':
    case 'Accepted':
      return 'yellow';
    case 'Passed':
      return 'green';
    default:
      return 'gray';
  }
}

function summaryOf(row: Row): string {
  const message = (row.message ?? '').replace(/\s*\n\s*/g, ' ');
  return row.result === 'Error' && row.component !== undefined
    ? `${row.reason ?? 'Error'}: ${message}`
    : message;
}

function nextOf(
  { status, spec }: UpdatePreflight,
  checks: readonly Row[],
  nothingFollows: boolean,
): string[] {
  const lines: string[] = [];
  // What it found is past, and nobody waits for it.
  if (status?.verdict === 'Superseded' && nothingFollows) return lines;
  const version = status?.target?.version ?? spec.version;
  const to = version === undefined ? '' : ` --to ${version}`;
  const blocking = checks.filter(isBlocking);
  for (const row of checks) {
    const isOpen = (row.result === 'Risk' || row.result === 'Error') && row.accepted !== true;
    if (isOpen && row.next !== undefined) lines.push(`${row.name}: ${row.next}`);
  }
  if (status?.verdict === 'Blocked') {
    const risks = blocking.filter((row) => row.result === 'Risk' && mayBeHarmless(row));
    const names = [...new Set(risks.map((row) => row.name))].sort();
    lines.push(`Then look again: sluice preflight run${to}`);
    if (names.length > 0 && !nothingFollows) {
      lines.push(
        `Accept what you know to be harmless: sluice upgrade accept ${names.join(',')}${to} --reason WHY`,
      );
    }
  } else if (status?.verdict === 'Incomplete') {
    lines.push(
      `What could not be looked at counts as no: mend it, then look again: sluice preflight run${to}`,
    );
  } else if (status?.verdict === 'Passed' && !nothingFollows) lines.push(`Update: sluice upgrade${to}`);
  return lines;
}

function isBlocking(row: Row): boolean {
  if (row.result !== 'Risk' && row.result !== 'Error') return false;
  return (row.severity ?? 'blocking') === 'blocking' && row.accepted !== true;
}

/** The names of the findings that stand against the update, sorted. */
export function refusedBy({ status }: UpdatePreflight): string[] {
  return [...new Set((status?.checks ?? []).filter(isBlocking).map((row) => row.name))].sort();
}

/**
 * The exit code that a report ends with: 0 passed, 3 blocked, 5 not completed, 6 where the release is not signed as
 * it must be; with `detailed`, 4 where it passed with accepted risks or warnings.
 */
export function exitCodeOf({ status }: UpdatePreflight, detailed: boolean): 0 | 3 | 4 | 5 | 6 {
  switch (status?.verdict) {
    case 'Passed': {
      const clean = status.reason !== 'RisksAccepted' && status.reason !== 'Warnings';
      return clean || !detailed ? 0 : 4;
    }
    case 'Blocked': {
      const untrusted = status.checks?.some(
        (row) =>
          (row.name === 'ReleaseSignature' || row.name === openPGPFinding) &&
          row.component === undefined &&
          row.result === 'Risk',
      );
      return untrusted === true ? 6 : 3;
    }
    default:
      return 5;
  }
}

/** The report as a program reads it. */
export function reportData(object: UpdatePreflight): object {
  const { status } = object;
  return {
    name: object.metadata.name,
    from: status?.source?.version,
    to: status?.target?.version ?? object.spec.version,
    image: status?.target?.image ?? object.spec.image,
    digest: status?.target?.digest,
    runID: status?.runID,
    startedAt: status?.startedAt,
    finishedAt: status?.finishedAt,
    verdict: status?.verdict,
    reason: status?.reason,
    message: status?.message,
    refusedBy: refusedBy(object),
    checks: status?.checks ?? [],
  };
}
