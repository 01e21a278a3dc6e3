import type { UpdateReport } from '../update/report.ts';
import { humanDuration, renderTable } from './output.ts';

/** Digits of a digest or boot id that tell one from another. */
const digitsShown = 8;

/** The report of a completed update for a person: what, through what, and what each node did. */
export function updateReportLines(report: UpdateReport, signedBy: string): string[] {
  const { accepted, cluster } = report;
  const { preflight } = accepted;
  const passed = accepted.findings.filter((finding) => finding.passedBy !== undefined);
  const pairs: [string, string][] = [
    ['Cluster', `${cluster.id} (${cluster.platform})`],
    ['Let through', accepted.acceptedAt],
    ['Completed', `${report.completedAt} (${spent(report)})`],
    ['Payload', accepted.to.image],
    ['Bundle', `${accepted.bundle.name}, ${accepted.bundle.digest}, signed by ${accepted.bundle.signedBy}`],
    ['Preflight', preflight === undefined ? 'none' : preflightWords(preflight)],
    ['Force', accepted.force ? 'was asked for' : 'no'],
    ['Signed by', signedBy],
  ];
  const width = Math.max(...pairs.map(([name]) => name.length)) + 3;
  return [
    `Update of the cluster from ${accepted.from.version} to ${accepted.to.version}`,
    '',
    ...pairs.map(([name, text]) => `${`${name}:`.padEnd(width)}${text}`),
    '',
    '= What it was let through in spite of =',
    ...(passed.length === 0
      ? ['Nothing.']
      : [
          renderTable(
            ['FINDING', 'GATE', 'RESULT', 'BY', 'REASON', 'MESSAGE'],
            passed.map((finding) => [
              finding.name,
              finding.component ?? finding.gate,
              finding.result,
              finding.passedBy === 'force' ? 'force' : 'acceptance',
              accepted.acceptedRisks.find((risk) => risk.name === finding.name)?.reason ?? '-',
              finding.message.replace(/\s*\n\s*/g, ' '),
            ]),
          ),
        ]),
    '',
    '= Gates =',
    gateTable(report),
    '',
    '= Nodes =',
    nodeTable(report),
    '',
    '= History =',
    renderTable(
      ['VERSION', 'STATE', 'STARTED', 'COMPLETED', 'VERIFIED'],
      report.history.map((entry) => [
        entry.version || '-',
        entry.state,
        entry.startedTime,
        entry.completionTime ?? '-',
        entry.verified ? 'yes' : 'no',
      ]),
    ),
  ];
}

function preflightWords({
  name,
  runID,
  verdict,
  digest,
}: NonNullable<UpdateReport['accepted']['preflight']>) {
  return `${name}, run ${runID}, ${verdict} (${digest})`;
}

function spent({ startedAt, completedAt }: UpdateReport): string {
  const ms = Date.parse(completedAt) - Date.parse(startedAt);
  return Number.isNaN(ms) ? 'for an unknown time' : `took ${humanDuration(ms)}`;
}

/** One row a gate: how often it answered what. */
function gateTable({ accepted }: UpdateReport): string {
  const gates = new Map<string, Map<string, number>>();
  for (const { gate, result } of accepted.findings) {
    const counts = gates.get(gate) ?? new Map<string, number>();
    counts.set(result, (counts.get(result) ?? 0) + 1);
    gates.set(gate, counts);
  }
  const rows = [...gates].map(([gate, counts]) => [
    gate,
    [...counts].map(([result, count]) => (count === 1 ? result : `${count} × ${result}`)).join(', '),
  ]);
  return renderTable(['GATE', 'RESULT'], rows);
}

/** What nobody knows of any node is no column, but said below. */
function nodeTable({ nodes }: UpdateReport): string {
  const columns: [string, (node: UpdateReport['nodes'][number]) => string | undefined][] = [
    ['NODE', (node) => node.name],
    ['ROLE', (node) => node.role],
    ['OS BEFORE', (node) => node.before?.osVersion],
    ['OS AFTER', (node) => node.after.osVersion],
    ['BOOT BEFORE', (node) => node.before?.bootID?.slice(0, digitsShown)],
    ['BOOT AFTER', (node) => node.after.bootID?.slice(0, digitsShown)],
    ['REBOOTED', (node) => (node.rebooted === undefined ? undefined : node.rebooted ? 'yes' : 'no')],
    ['UPDATED', (node) => node.updatedAt],
  ];
  const isKnown = ([, cell]: (typeof columns)[number]) => nodes.some((node) => cell(node) !== undefined);
  const shown = columns.filter(isKnown);
  const table = renderTable(
    shown.map(([heading]) => heading),
    nodes.map((node) => shown.map(([, cell]) => cell(node) ?? 'unknown')),
  );
  const unknown = columns.filter((column) => !isKnown(column)).map(([heading]) => heading);
  return unknown.length === 0 || nodes.length === 0
    ? table
    : `${table}\n(unknown of every node: ${unknown.join(', ')})`;
}
