import { type KubeObject, list, record } from '../object.ts';
import { age, type Column, column, name } from './column.ts';
import { humanDuration } from './duration.ts';

interface PodSummary {
  readonly ready: string;
  readonly status: string;
  readonly restarts: number;
  readonly lastRestart: number | undefined;
}

/** The table of Pods (kubernetes, pkg/printers/internalversion printPod). */
export const podLayout: readonly Column[] = [
  name,
  column('Ready', ({ object }) => summarize(object).ready, {
    description: 'The aggregate readiness state of this pod for accepting traffic.',
  }),
  column('Status', ({ object }) => summarize(object).status, {
    description: 'The aggregate status of the containers in this pod.',
  }),
  column(
    'Restarts',
    ({ object, now }) => {
      const { restarts, lastRestart } = summarize(object);
      return lastRestart === undefined || restarts === 0
        ? String(restarts)
        : `${restarts} (${humanDuration(now - lastRestart)} ago)`;
    },
    { description: 'The number of times the containers in this pod have been restarted.' },
  ),
  age,
  column('IP', ({ object }) => podIp(object), { priority: 1 }),
  column('Node', ({ object }) => record(object.spec).nodeName || '<none>', { priority: 1 }),
  column('Nominated Node', ({ object }) => record(object.status).nominatedNodeName || '<none>', {
    priority: 1,
  }),
  column('Readiness Gates', ({ object }) => readinessGates(object), { priority: 1 }),
];

function podIp(pod: KubeObject): unknown {
  const { podIPs, podIP } = record(pod.status);
  return record(list(podIPs)[0]).ip || podIP || '<none>';
}

function readinessGates(pod: KubeObject): string {
  const gates = list(record(pod.spec).readinessGates).map(record);
  if (gates.length === 0) return '<none>';
  const conditions = list(record(pod.status).conditions).map(record);
  const good = gates.filter((gate) =>
    conditions.some((condition) => condition.type === gate.conditionType && condition.status === 'True'),
  );
  return `${good.length}/${gates.length}`;
}

const summaries = new WeakMap<KubeObject, PodSummary>();

function summarize(pod: KubeObject): PodSummary {
  const known = summaries.get(pod);
  if (known !== undefined) return known;
  const made = summary(pod);
  summaries.set(pod, made);
  return made;
}

function summary(pod: KubeObject): PodSummary {
  const spec = record(pod.spec);
  const status = record(pod.status);
  const containers = list(status.containerStatuses).map(record);
  const inits = list(status.initContainerStatuses).map(record);
  let reason = String(status.reason || status.phase || '');
  const gated = list(status.conditions)
    .map(record)
    .some((condition) => condition.type === 'PodScheduled' && condition.reason === 'SchedulingGated');
  if (gated) reason = 'SchedulingGated';
  const sidecars = new Set(
    list(spec.initContainers)
      .map(record)
      .filter((container) => container.restartPolicy === 'Always')
      .map((container) => container.name),
  );
  const initial = initReason(inits, list(spec.initContainers).length, sidecars);
  let restarts = sum(inits);
  let lastRestart = latest(inits);
  let readyCount = inits.filter(
    (one) => sidecars.has(one.name) && one.started === true && one.ready === true,
  ).length;
  if (initial !== undefined) reason = initial;
  if (initial === undefined || holds(status, 'Initialized')) {
    const running = containerReason(containers, reason, holds(status, 'Ready'));
    reason = running.reason;
    restarts = sum(containers) + sum(inits.filter((one) => sidecars.has(one.name)));
    lastRestart = latest([...containers, ...inits.filter((one) => sidecars.has(one.name))]);
    readyCount += running.ready;
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    if (status.reason === 'NodeLost') reason = 'Unknown';
    else if (status.phase !== 'Succeeded' && status.phase !== 'Failed') reason = 'Terminating';
  }
  const total = list(spec.containers).length + sidecars.size;
  return { ready: `${readyCount}/${total}`, status: reason, restarts, lastRestart };
}

/** What holds the start, in the words for init containers; undefined where they are done. */
function initReason(
  statuses: readonly Record<string, unknown>[],
  total: number,
  sidecars: ReadonlySet<unknown>,
): string | undefined {
  for (const [at, status] of statuses.entries()) {
    const { terminated, waiting } = states(status);
    if (terminated !== undefined && terminated.exitCode === 0) continue;
    if (sidecars.has(status.name) && status.started === true) continue;
    if (terminated !== undefined) return `Init:${endReason(terminated)}`;
    if (waiting?.reason && waiting.reason !== 'PodInitializing') return `Init:${waiting.reason}`;
    return `Init:${at}/${total}`;
  }
  return undefined;
}

function containerReason(
  statuses: readonly Record<string, unknown>[],
  before: string,
  podReady: boolean,
): { reason: string; ready: number } {
  let reason = before;
  let ready = 0;
  let running = false;
  // From the last to the first, so that the first container that has something to say is the one that is heard.
  for (const status of [...statuses].reverse()) {
    const { terminated, waiting, running: runs } = states(status);
    if (waiting?.reason) reason = String(waiting.reason);
    else if (terminated !== undefined) reason = endReason(terminated);
    else if (status.ready === true && runs !== undefined) {
      running = true;
      ready += 1;
    }
  }
  if (reason === 'Completed' && running) reason = podReady ? 'Running' : 'NotReady';
  return { reason, ready };
}

function endReason(terminated: Record<string, unknown>): string {
  if (terminated.reason) return String(terminated.reason);
  return terminated.signal ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode}`;
}

function states(status: Record<string, unknown>): {
  waiting: Record<string, unknown> | undefined;
  running: Record<string, unknown> | undefined;
  terminated: Record<string, unknown> | undefined;
} {
  const state = record(status.state);
  const one = (name: string) =>
    state[name] === undefined || state[name] === null ? undefined : record(state[name]);
  return { waiting: one('waiting'), running: one('running'), terminated: one('terminated') };
}

function holds(status: Record<string, unknown>, type: string): boolean {
  return list(status.conditions)
    .map(record)
    .some((condition) => condition.type === type && condition.status === 'True');
}

function sum(statuses: readonly Record<string, unknown>[]): number {
  return statuses.reduce((total, status) => total + Number(status.restartCount ?? 0), 0);
}

function latest(statuses: readonly Record<string, unknown>[]): number | undefined {
  const times = statuses
    .map((status) => Date.parse(String(record(record(status.lastState).terminated).finishedAt ?? '')))
    .filter((time) => !Number.isNaN(time));
  return times.length === 0 ? undefined : Math.max(...times);
}
