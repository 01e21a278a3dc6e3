import type { Node } from '../api/core.ts';
import { labels } from '../api/names.ts';
import type { ClusterOperator, ClusterVersion, NodeUpdate } from '../api/resources.ts';
import { conditionIs, findCondition } from '../kube/conditions.ts';
import { counted } from '../observe/count.ts';
import { poolOf } from '../rollout/rules.ts';
import { humanDuration, renderTable } from './output.ts';
import type { Detail } from './upgrade-details.ts';
import { type HealthFinding, healthFindings } from './upgrade-health.ts';
import { heldNext } from './upgrade-progress.ts';
import { conditionOf } from './upgrade-view.ts';

/** The objects that the picture of an update is drawn from. */
export interface UpdateObjects {
  readonly version: ClusterVersion;
  readonly operators: readonly ClusterOperator[];
  readonly nodes: readonly Node[];
  readonly updates: readonly NodeUpdate[];
}

/** Rows of a table that are shown unless all are asked for. */
const rowsShown = 10;

/** Milliseconds that an update is expected to take where none was completed here before. */
const baselineMsDefault = 3_600_000;
const overestimate = 1.2;
/** Milliseconds by which the estimate may be overrun before the update counts as stalled. */
const stalledMs = 10 * 60_000;

/** The whole picture of an update in progress: one word first, then counts, then what is not done, worst first. */
export function updateStatus(objects: UpdateObjects, now: number, detail: Detail = 'none'): string[] {
  const lines = [
    ...controlPlane(objects, now, detail),
    ...workers(objects, now, detail),
    ...health(objects, now, detail),
  ];
  return lines;
}

function controlPlane(objects: UpdateObjects, now: number, detail: Detail): string[] {
  const { version, operators, nodes } = objects;
  const target = version.status?.desired.version ?? '';
  const behind = operators.filter((operator) => !isUpdated(operator, target));
  const updating = behind.filter((operator) => isTrue(operator, 'Progressing'));
  const pairs: [string, string][] = [
    ['Assessment', assessment(version, now)],
    ['Target Version', `${target} ${fromVersion(version)}`],
  ];
  if (updating.length > 0) pairs.push(['Updating', updating.map(({ metadata }) => metadata.name).join(', ')]);
  pairs.push(
    ['Completion', completion(version, operators.length, updating.length, behind.length)],
    ['Duration', duration(objects, now)],
    ['Operator Health', operatorHealth(operators)],
  );
  const width = Math.max(...pairs.map(([name]) => name.length)) + 2;
  const lines = ['= Control Plane =', ...pairs.map(([name, text]) => `${`${name}:`.padEnd(width)}${text}`)];
  const waiting = conditionOf(version, 'Progressing')?.message?.split(', waiting on ')[1];
  if (waiting !== undefined) lines.push(`${'Waiting on:'.padEnd(width)}${waiting}`);
  const next = heldNext(waiting ?? '');
  if (next !== undefined) lines.push(`${'Next:'.padEnd(width)}${next}`);
  const shown = detail === 'operators' || detail === 'all' ? behind : updating;
  if (shown.length > 0) {
    lines.push(
      '',
      'Updating Cluster Operators',
      renderTable(
        operatorColumns,
        shown.map((each) => operatorRow(each, now)),
      ),
    );
  }
  const own = nodes.filter((node) => isControlPlane(node));
  lines.push(...nodeTable('Control Plane Nodes', own, objects, now, detail));
  return lines;
}

function workers(objects: UpdateObjects, now: number, detail: Detail): string[] {
  const members = objects.nodes.filter((node) => !isControlPlane(node));
  if (members.length === 0) return [];
  const pools = new Map<string, Node[]>();
  for (const node of members) {
    const pool = poolOf(node.metadata.labels ?? {});
    pools.set(pool, [...(pools.get(pool) ?? []), node]);
  }
  const rows = [...pools]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, nodes]) => poolRow(name, nodes, objects, now));
  const lines = [
    '',
    '= Worker Upgrade =',
    renderTable(['WORKER POOL', 'ASSESSMENT', 'COMPLETION', 'STATUS'], rows),
  ];
  return [...lines, ...nodeTable('Worker Nodes', members, objects, now, detail)];
}

function poolRow(name: string, nodes: readonly Node[], objects: UpdateObjects, now: number): string[] {
  const views = nodes.map((node) => nodeView(node, objects, now));
  const done = views.filter((view) => view.assessment === 'Completed').length;
  const counts = new Map<string, number>();
  for (const view of views) counts.set(view.assessment, (counts.get(view.assessment) ?? 0) + 1);
  const status = [...counts].map(([word, count]) => `${count} ${word}`).join(', ');
  const percent = Math.floor((done / nodes.length) * 100);
  const worst = views.sort((a, b) => a.rank - b.rank)[0]?.assessment ?? '-';
  return [name, worst, `${percent}% (${done}/${nodes.length})`, status];
}

const operatorColumns = ['NAME', 'SINCE', 'REASON', 'MESSAGE'];

function operatorRow(operator: ClusterOperator, now: number): string[] {
  const progressing = findCondition(operator.status?.conditions, 'Progressing');
  const since =
    progressing === undefined ? 'unknown' : humanDuration(now - Date.parse(progressing.lastTransitionTime));
  return [
    operator.metadata.name,
    since,
    progressing?.reason || '-',
    (progressing?.message || 'has not reported the new version').replace(/\s*\n\s*/g, ' '),
  ];
}

interface NodeView {
  readonly assessment: 'Degraded' | 'Unavailable' | 'Held' | 'Progressing' | 'Pending' | 'Completed';
  readonly rank: number;
  readonly row: readonly string[];
}

const ranks: readonly NodeView['assessment'][] = [
  'Degraded',
  'Unavailable',
  'Held',
  'Progressing',
  'Pending',
  'Completed',
];

function nodeTable(
  title: string,
  nodes: readonly Node[],
  objects: UpdateObjects,
  now: number,
  detail: Detail,
): string[] {
  if (nodes.length === 0) return [];
  const views = nodes
    .map((node) => nodeView(node, objects, now))
    .sort((a, b) => a.rank - b.rank || ((a.row[0] ?? '') < (b.row[0] ?? '') ? -1 : 1));
  const isAll = detail === 'all' || detail === 'nodes';
  const shown = isAll ? views : views.slice(0, rowsShown);
  const table = renderTable(
    ['NAME', 'ASSESSMENT', 'PHASE', 'VERSION', 'HELD FOR', 'MESSAGE'],
    shown.map((view) => view.row),
  );
  const more = views.length - shown.length;
  return ['', title, table, ...(more > 0 ? [`… and ${more} more: --details=nodes shows them.`] : [])];
}

function nodeView(node: Node, { updates, version }: UpdateObjects, now: number): NodeView {
  const { name } = node.metadata;
  const update = updates.find((each) => each.metadata.name === name);
  const status = update?.status;
  const wanted = digestOf(update?.spec.osImage);
  const isReady = conditionIs(node.status?.conditions, 'Ready', 'True');
  const degraded = status?.conditions?.find((each) => each.type === 'Degraded' && each.status === 'True');
  const hold = status?.holds?.[0];
  const runs = wanted === undefined || wanted === digestOf(status?.booted?.image);
  const view = (assessment: NodeView['assessment'], message: string): NodeView => ({
    assessment,
    rank: ranks.indexOf(assessment),
    row: [
      name,
      assessment,
      status?.state ?? 'Unknown',
      status?.booted?.version ?? 'unknown',
      hold === undefined || assessment !== 'Held' ? '-' : humanDuration(now - Date.parse(hold.since)),
      message.replace(/\s*\n\s*/g, ' '),
    ],
  });
  if (degraded !== undefined) return view('Degraded', degraded.message || degraded.reason);
  if (!isReady) return view('Unavailable', 'the node is not ready');
  const isAtRest = version.status?.history?.[0]?.state === 'Completed';
  if (update?.spec.osImage === undefined && isAtRest) return view('Completed', '');
  if (update?.spec.osImage === undefined) return view('Pending', 'nothing was given to it yet');
  if (runs) return view('Completed', '');
  if (hold !== undefined) return view('Held', `${hold.gate}: ${hold.message}`);
  return view('Progressing', status?.message ?? '');
}

function health(objects: UpdateObjects, now: number, detail: Detail): string[] {
  const findings = healthFindings(objects);
  const lines = ['', '= Update Health ='];
  if (findings.length === 0) {
    const waits = heldNext(conditionOf(objects.version, 'Progressing')?.message ?? '') !== undefined;
    return [
      ...lines,
      waits
        ? 'Nothing is wrong that is known of, but nodes are held: see Next above.'
        : 'Nothing is wrong that is known of.',
    ];
  }
  const since = (finding: HealthFinding) =>
    finding.since === undefined ? '-' : humanDuration(now - Date.parse(finding.since));
  if (detail === 'health' || detail === 'all') {
    return [
      ...lines,
      ...findings.flatMap((finding) => [
        `Message: ${finding.message}`,
        `  Since:       ${since(finding)}`,
        `  Level:       ${finding.level}`,
        `  Impact:      ${finding.impact}`,
        `  Reference:   ${finding.reference}`,
        `  Resources:   ${finding.resources.join(', ')}`,
        `  Description: ${finding.description.replaceAll('\n', '\n    ')}`,
        '',
      ]),
    ];
  }
  const rows = findings.map((each) => [since(each), each.level, each.impact, each.message]);
  return [
    ...lines,
    renderTable(['SINCE', 'LEVEL', 'IMPACT', 'MESSAGE'], rows),
    '',
    'More: sluice upgrade status --details=health',
  ];
}

/** One word for how the update goes. */
export function assessment(version: ClusterVersion, now: number): string {
  const [latest] = version.status?.history ?? [];
  if (latest === undefined) return 'Pending';
  if (latest.state === 'Completed') return 'Completed';
  if (conditionOf(version, 'Failing')?.status === 'True') return 'Degraded';
  const over = now - Date.parse(latest.startedTime) - estimateMs(version);
  if (over > stalledMs) return 'Stalled';
  return over > 0 || conditionOf(version, 'Failing')?.status === 'Unknown'
    ? 'Progressing - Slow'
    : 'Progressing';
}

/** Why nobody can tell how long it takes still: it waits for a person, or nothing is known to reckon by. */
function notEstimated(objects: UpdateObjects, now: number): string | undefined {
  const { version, nodes } = objects;
  if (conditionOf(version, 'Failing')?.status === 'True') return 'it does not go on';
  // One that waits for its turn is on its way.
  const inTurn = objects.updates
    .filter(({ status }) => status?.holds?.[0]?.gate === 'fleet_lock')
    .map(({ metadata }) => metadata.name);
  const held = nodes.filter(
    (node) => nodeView(node, objects, now).assessment === 'Held' && !inTurn.includes(node.metadata.name),
  ).length;
  if (held > 0) return `${counted(held, 'node is', 'nodes are')} held`;
  if (conditionOf(version, 'Failing')?.status === 'Unknown') return 'it takes longer than expected';
  return lastUpdate(version) === undefined ? 'no update was completed here before' : undefined;
}

/** The last update that was completed here: the very first release was an installation, which tells nothing of one. */
function lastUpdate({ status }: ClusterVersion) {
  return (status?.history ?? [])
    .slice(1)
    .find(
      (entry, index, entries) =>
        entry.state === 'Completed' && entry.completionTime !== null && index < entries.length - 1,
    );
}

function estimateMs(version: ClusterVersion): number {
  const done = lastUpdate(version);
  if (done === undefined || done.completionTime === null) return baselineMsDefault;
  return (Date.parse(done.completionTime) - Date.parse(done.startedTime)) * overestimate;
}

/** How long it takes, and where something bears an estimate also how long still. */
function duration(objects: UpdateObjects, now: number): string {
  const { version } = objects;
  const [latest] = version.status?.history ?? [];
  if (latest === undefined) return '-';
  if (latest.completionTime !== null && latest.state === 'Completed') {
    const took = Date.parse(latest.completionTime) - Date.parse(latest.startedTime);
    return `${humanDuration(took)} (completed ${humanDuration(now - Date.parse(latest.completionTime))} ago)`;
  }
  const spent = now - Date.parse(latest.startedTime);
  const unknown = notEstimated(objects, now);
  if (unknown !== undefined) return `${humanDuration(spent)} (no estimate: ${unknown})`;
  const left = estimateMs(version) - spent;
  const words =
    left < 0
      ? `N/A; estimate duration was ${humanDuration(estimateMs(version))}`
      : `Est. Time Remaining: ${left < 10 * 60_000 ? '<10m' : humanDuration(Math.round(left / 60_000) * 60_000)}`;
  return `${humanDuration(spent)} (${words})`;
}

function fromVersion({ status }: ClusterVersion): string {
  const before = status?.history?.[1];
  if (before === undefined) return '(installation)';
  return before.state === 'Completed' ? `(from ${before.version})` : `(from incomplete ${before.version})`;
}

function completion(version: ClusterVersion, all: number, updating: number, behind: number): string {
  const isDone = version.status?.history?.[0]?.state === 'Completed';
  const percent = isDone
    ? '100'
    : /\((\d+)% complete\)/.exec(conditionOf(version, 'Progressing')?.message ?? '')?.[1];
  const done = all - behind;
  const operators = `${counted(done, 'operator')} updated, ${updating} updating, ${behind - updating} waiting`;
  return percent === undefined ? `unknown (${operators})` : `${percent}% (${operators})`;
}

function operatorHealth(operators: readonly ClusterOperator[]): string {
  const unavailable = operators.filter((operator) => !isTrue(operator, 'Available'));
  const degraded = operators.filter((each) => isTrue(each, 'Available') && isTrue(each, 'Degraded'));
  const healthy = operators.length - unavailable.length - degraded.length;
  const parts = [`${healthy} Healthy`];
  if (unavailable.length > 0) parts.push(`${unavailable.length} Unavailable`);
  if (degraded.length > 0) parts.push(`${degraded.length} Available but degraded`);
  return parts.join(', ');
}

function isUpdated({ status }: ClusterOperator, target: string): boolean {
  return status?.versions?.find((each) => each.name === 'operator')?.version === target;
}

function isTrue({ status }: ClusterOperator, type: string): boolean {
  return findCondition(status?.conditions, type)?.status === 'True';
}

function isControlPlane(node: Node): boolean {
  return node.metadata.labels?.[labels.controlPlane] !== undefined;
}

function digestOf(image: string | undefined): string | undefined {
  return image?.slice(image.lastIndexOf('@') + 1);
}
