import { counted } from '../observe/count.ts';
import { type Finding, judge } from './finding.ts';
import { listed } from './outcome.ts';
import { coverageCheck } from './preflight.ts';

export type Verdict = 'Passed' | 'Blocked' | 'Incomplete' | 'Running' | 'Superseded';

export interface ReportJudgement {
  readonly verdict: Verdict;
  /** One CamelCase word, for the condition. */
  readonly reason: string;
  readonly message: string;
}

/**
 * The verdict on the findings of a preflight (docs/preflight.md tabulates it). A risk outweighs what could not be
 * looked at, since it is certain; nothing passes while something is not known.
 *
 * @param findings built-in findings and those of the release's checks, all of one run.
 * @param accepted names of risks that were accepted.
 */
export function verdictOf(findings: readonly Finding[], accepted: ReadonlySet<string>): ReportJudgement {
  const running = findings.filter((finding) => finding.result === 'Running');
  if (running.length > 0) {
    return {
      verdict: 'Running',
      reason: 'ChecksRunning',
      message: `${findings.length - running.length} of ${counted(findings.length, 'check')} done, waiting on ${names(running)}`,
    };
  }
  const judged = judge(findings, { accepted, force: false });
  const risks = judged.blocking.filter((finding) => finding.result === 'Risk');
  const errors = judged.blocking.filter((finding) => finding.result === 'Error');
  if (risks.length > 0) {
    const also =
      errors.length > 0 ? `; ${counted(errors.length, 'check')} did not run: ${names(errors)}` : '';
    return {
      verdict: 'Blocked',
      reason: 'RisksFound',
      message: `${counted(risks.length, 'unaccepted risk')}: ${names(risks)}${also}`,
    };
  }
  if (errors.length > 0) {
    return {
      verdict: 'Incomplete',
      reason: 'ChecksFailed',
      message: `${counted(errors.length, 'check')} could not be completed: ${names(errors)}`,
    };
  }
  if (judged.accepted.length > 0) {
    return {
      verdict: 'Passed',
      reason: 'RisksAccepted',
      message: `passed with accepted risks: ${names(judged.accepted)}`,
    };
  }
  const warnings = judged.warnings.filter((finding) => finding.severity === 'warning');
  if (warnings.length > 0) {
    return {
      verdict: 'Passed',
      reason: 'Warnings',
      message: `passed with warnings: ${names(warnings)}`,
    };
  }
  const checks = findings.filter((finding) => isCheck(finding) && finding.result === 'Passed');
  if (checks.length === 0) {
    return {
      verdict: 'Passed',
      reason: 'NoChecks',
      message: `nothing stands against it; the release ships no checks of its own${open(judged.warnings)}`,
    };
  }
  return {
    verdict: 'Passed',
    reason: 'AllPassed',
    message: `nothing stands against it${open(judged.warnings)}`,
  };
}

/** What a preflight only tells, since there is time to do it before the update. */
function open(infos: readonly Finding[]): string {
  return infos.length === 0 ? '' : `; still to do before the update: ${names(infos)}`;
}

/** A check of the release itself, no built-in finding and not the row that tells of their coverage. */
function isCheck(finding: Finding): boolean {
  return finding.component !== undefined && finding.name !== coverageCheck;
}

function names(findings: readonly Finding[]): string {
  return listed([...new Set(findings.map((finding) => finding.name))].sort());
}
