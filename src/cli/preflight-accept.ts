import type { UpdatePreflight } from '../api/resources.ts';
import { type Finding, isAccepted } from '../gates/finding.ts';
import { verdictOf } from '../gates/verdict.ts';

/**
 * The report as it would be with these risks accepted too, judged by the same rule as the controller's. Nothing is
 * written: a dry run must not let a later update through. A run that has not ended stays as it is. Pure.
 */
export function acceptedHere(report: UpdatePreflight, names: readonly string[]): UpdatePreflight {
  const { status } = report;
  const checks = status?.checks ?? [];
  const isEnded =
    status?.verdict === 'Passed' || status?.verdict === 'Blocked' || status?.verdict === 'Incomplete';
  if (names.length === 0 || status === undefined || !isEnded || checks.length === 0) return report;
  const accepted = new Set([...(report.spec.acceptedRisks ?? []).map((risk) => risk.name), ...names]);
  const findings = checks.map(
    (row): Finding => ({
      name: row.name,
      gate: row.component ?? 'preflight',
      severity: (row.severity as Finding['severity'] | undefined) ?? 'blocking',
      result: row.result as Finding['result'],
      message: row.message ?? '',
      ...(row.component === undefined ? {} : { component: row.component }),
    }),
  );
  const rows = checks.map((row, index) => {
    const finding = findings[index];
    const isTaken = finding !== undefined && isAccepted(finding, accepted);
    return isTaken ? { ...row, accepted: true } : row;
  });
  return { ...report, status: { ...status, ...verdictOf(findings, accepted), checks: rows } };
}
