import type { GateFacts, PreflightFact } from './facts.ts';
import type { Finding } from './finding.ts';

/**
 * What the target's own checks found, from the report of a run for this very digest and this very source. A report
 * that is stale or of another cluster state is no evidence: then the gate waits for a new run.
 */
export function preflightGate(facts: GateFacts): Finding[] {
  if (facts.purpose === 'preflight' || !facts.target.verified) return [];
  if (!facts.preflight.known) return [outcome('Error', facts.preflight.why)];
  const report = facts.preflight.value;
  if (report === undefined) return [outcome('Running', 'the preflight of the release has not started yet')];
  const stale = staleness(facts, report);
  if (stale !== undefined) return [outcome('Running', `the preflight runs again: ${stale}`)];
  if (report.verdict === 'Running') {
    return [outcome('Running', `the preflight ${report.object} runs: ${report.message}`)];
  }
  const coverage = coverageOf(report);
  if (coverage?.result !== 'Passed') {
    const why = coverage?.message ?? report.message;
    return [outcome('Error', `the checks of the release were not run (${report.verdict}): ${why}`)];
  }
  // Built-in findings of the report are of its time; the other gates look at them anew.
  const rows = report.checks.filter((check) => check !== coverage).map(rowFinding);
  const open = rows.filter((row) => row.result !== 'Passed' && row.result !== 'Skipped');
  return [outcome('Passed', coverage.message), ...open];
}

/**
 * The row of a report that says whether the target's own checks were read and run to the last one. Without it,
 * passed, rows that are missing could be taken for rows that passed.
 */
export const coverageCheck = 'ReleaseChecks';

function coverageOf({ checks }: PreflightFact): PreflightFact['checks'][number] | undefined {
  return checks.find((check) => check.name === coverageCheck);
}

function rowFinding(check: PreflightFact['checks'][number]): Finding {
  return {
    name: check.name,
    gate: 'preflight',
    severity: check.severity,
    result: check.result,
    message: `${check.component}: ${check.message}`,
    component: check.component,
    ...(check.next === undefined ? {} : { next: check.next }),
  };
}

/** What a report is held against. */
export interface StalenessFacts {
  readonly now: number;
  readonly source: { readonly digest: string };
  readonly target:
    | { readonly verified: false }
    | { readonly verified: true; readonly digest: string; readonly checkSet?: string };
}

/** Why the report is no evidence for what is asked now; undefined where it is. */
export function staleness(
  { now, source, target }: StalenessFacts,
  report: PreflightFact,
): string | undefined {
  if (!target.verified) return 'the release is not verified';
  if (report.targetDigest !== target.digest) return 'its report is for another digest';
  if (report.sourceDigest !== source.digest) return 'the cluster ran another release then';
  if (report.checkSet === undefined) {
    // A run that could not read the checks says so in its rows; one that passed without saying which is no evidence.
    if (coverageOf(report)?.result === 'Passed')
      return 'its report does not say which checks it speaks about';
  } else if (report.checkSet !== target.checkSet) return 'its report is for another set of checks';
  if (report.verdict === 'Superseded') return 'its last run was superseded';
  if (report.finishedAt === undefined) return undefined;
  // A report from the future is a clock that was set back: its age is not known.
  const age = now - report.finishedAt;
  if (age > report.maxAgeMs || age < -clockToleranceMs) return 'its report is too old';
  return undefined;
}

/** Milliseconds that two clocks may differ before an age is not believed. */
const clockToleranceMs = 10 * 60_000;

function outcome(result: Finding['result'], message: string): Finding {
  return { name: 'Preflight', gate: 'preflight', severity: 'blocking', result, message };
}
