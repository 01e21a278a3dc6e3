import type { ClusterVersion } from '../api/resources.ts';
import { mayBeHarmless } from '../gates/finding.ts';
import { findCondition } from '../kube/conditions.ts';
import { counted } from '../observe/count.ts';
import { type RefusedBy, readRefusal } from '../update/refusal.ts';
import { renderTable } from './output.ts';
import { wrapRows } from './preflight-report.ts';

/** A request that is refused, as a program reads it. */
export interface RefusalData {
  readonly to: string;
  readonly refusedBy: readonly string[];
  readonly findings: readonly RefusedBy[];
  readonly message: string;
}

export function refusalData(to: string, message: string): RefusalData {
  const findings = readRefusal(message) ?? [];
  return { to, refusedBy: findings.map((finding) => finding.name).sort(), findings, message };
}

/**
 * What stands against a request: a table, then what to do about each, then what may be done at all. A message that
 * is no list of findings is shown as it is.
 *
 * @param columns of the terminal; undefined where the output is no terminal: then nothing is wrapped.
 */
export function refusalLines(to: string, message: string, columns?: number): string[] {
  const findings = readRefusal(message);
  if (findings === undefined) {
    return [
      `The update to ${to} is refused.`,
      '',
      ...message.split('\n'),
      '',
      'Next:',
      ...standing.map(indented),
    ];
  }
  const view = {
    columns: ['FINDING', 'GATE', 'MESSAGE'],
    rows: findings.map((finding) => [finding.name, finding.gate ?? 'runs', finding.message]),
  };
  return [
    `The update to ${to} is refused: ${counted(findings.length, 'finding stands', 'findings stand')} against it.`,
    '',
    renderTable(view.columns, wrapRows(view, columns).flat()),
    '',
    'Next:',
    ...nextOf(findings, to).map(indented),
  ];
}

const standing = [
  'The request stands and goes through by itself once this is mended; take it back: sluice upgrade clear',
];

function nextOf(findings: readonly RefusedBy[], to: string): string[] {
  const own = findings.flatMap(({ name, next }) => (next === undefined ? [] : [`${name}: ${next}`]));
  const acceptable = findings
    .filter((finding) => finding.gate !== undefined && mayBeHarmless(finding))
    .map((finding) => finding.name);
  const accept = `Accept what you know to be harmless: sluice upgrade accept ${acceptable.join(',')} --to ${to} --reason WHY`;
  return [...own, ...(acceptable.length === 0 ? [] : [accept]), ...standing];
}

const indented = (line: string) => `  ${line}`;

/** The release that is asked for and not accepted, with the words against it; undefined where nothing waits. */
export function standingRefusal({
  spec,
  status,
}: ClusterVersion): { to: string; message: string } | undefined {
  const wish = spec.desiredUpdate;
  const accepted = findCondition(status?.conditions, 'ReleaseAccepted');
  if (wish === undefined || accepted?.status !== 'False') return undefined;
  return { to: wish.version ?? wish.image ?? 'another release', message: accepted.message ?? '' };
}
