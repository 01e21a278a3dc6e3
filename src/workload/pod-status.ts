import type { Container, ContainerState, ContainerStatus, Pod, PodCondition, PodPhase } from '../api/core.ts';
import { rfc3339 } from '../observe/clock.ts';
import {
  currentInit,
  latestOf,
  type PodDecision,
  type PodFacts,
  type SeenContainer,
} from './pod-decision.ts';
import type { RunnerName } from './runner.ts';

type PodStatus = NonNullable<Pod['status']>;

/** How long a failed pull is shown as itself before it is shown as the wait for the next one. */
export const pullErrorShownMs = 2_000;

/** The status of a Pod on this node: phase, conditions and containers in the words of a kubelet. */
export function podStatus(
  pod: Pod,
  facts: PodFacts,
  decision: PodDecision,
  node: { address: string; runner: RunnerName },
): PodStatus {
  const old = pod.status ?? {};
  const initStatuses = (pod.spec.initContainers ?? []).map((container) =>
    containerStatus(pod, container, facts, decision, node.runner, true),
  );
  const statuses = pod.spec.containers.map((container) =>
    containerStatus(pod, container, facts, decision, node.runner, false),
  );
  const phase = phaseOf(pod, facts, decision);
  const conditions = conditionsOf(pod, phase, initStatuses, statuses, facts);
  const begun = facts.containers.length > 0;
  const failed = decision.failed;
  const { reason: _reason, message: _message, ...kept } = old;
  return {
    ...kept,
    // Both survive in a Pod that has ended: they say why.
    ...((phase === 'Failed' ? failed : undefined) ?? (isTerminalPhase(old.phase) ? reasonOf(old) : {})),
    phase,
    conditions,
    hostIP: node.address,
    ...(begun ? { podIP: node.address, podIPs: [{ ip: node.address }] } : {}),
    startTime: rfc3339(facts.startedAt),
    ...(initStatuses.length === 0 ? {} : { initContainerStatuses: initStatuses }),
    containerStatuses: statuses,
  };
}

function reasonOf({ reason, message }: PodStatus): { reason?: string; message?: string } {
  return { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
}

function isTerminalPhase(phase: PodPhase | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** kubernetes, pkg/kubelet getPhase. A Pod that has ended stays so. */
function phaseOf(pod: Pod, facts: PodFacts, decision: PodDecision): PodPhase {
  const { phase } = pod.status ?? {};
  if (phase !== undefined && isTerminalPhase(phase)) return phase;
  if (decision.failed !== undefined) {
    // Not before its containers have ended: who waits for the end may start another Pod in its place.
    const running = facts.containers.some(({ state }) => state.phase === 'running');
    return running ? (phase ?? 'Pending') : 'Failed';
  }
  const policy = pod.spec.restartPolicy ?? 'Always';
  const deleted = pod.metadata.deletionTimestamp !== undefined;
  const never = policy === 'Never' || deleted;
  const initial = currentInit(pod, facts);
  if (initial !== undefined) {
    const last = latestOf(facts.containers, initial.name);
    const failedInit = last?.state.phase === 'exited' && never;
    return failedInit || (deleted && decision.ended) ? 'Failed' : 'Pending';
  }
  let waiting = 0;
  let running = 0;
  let failed = 0;
  for (const { name } of pod.spec.containers) {
    const last = latestOf(facts.containers, name);
    if (last === undefined) waiting += 1;
    else if (last.state.phase === 'running') running += 1;
    else if (last.state.exitCode !== 0) failed += 1;
  }
  if (deleted && decision.ended) return waiting + failed > 0 ? 'Failed' : 'Succeeded';
  if (waiting > 0) return 'Pending';
  if (running > 0) return 'Running';
  if (policy === 'Always' && !deleted) return 'Running';
  if (failed === 0) return 'Succeeded';
  return never ? 'Failed' : 'Running';
}

function containerStatus(
  pod: Pod,
  container: Container,
  facts: PodFacts,
  decision: PodDecision,
  runner: RunnerName,
  isInit: boolean,
): ContainerStatus {
  const { name } = container;
  const last = latestOf(facts.containers, name);
  const before = facts.containers
    .filter((one) => one.container === name && one.attempt === (last?.attempt ?? 0) - 1)
    .at(0);
  const image = facts.images.get(name);
  const recorded = (isInit ? pod.status?.initContainerStatuses : pod.status?.containerStatuses)?.find(
    (status) => status.name === name,
  );
  const base = {
    name,
    image: container.image ?? '',
    imageID: image?.state === 'present' ? (container.image ?? '') : (recorded?.imageID ?? ''),
    restartCount: last?.attempt ?? recorded?.restartCount ?? 0,
  };
  const id = (one: SeenContainer) => (one.id === '' ? {} : { containerID: `${runner}://${one.id}` });
  const terminated = (one: SeenContainer): ContainerState => {
    if (one.state.phase !== 'exited') return {};
    const { exitCode, reason, message, startedAt, finishedAt } = one.state;
    return {
      terminated: {
        exitCode,
        reason,
        ...(message === '' ? {} : { message }),
        startedAt: rfc3339(startedAt),
        finishedAt: rfc3339(finishedAt),
        ...id(one),
      },
    };
  };
  if (last?.state.phase === 'running') {
    return {
      ...base,
      ...id(last),
      ready: !isInit && facts.ready.has(last.id),
      started: true,
      state: { running: { startedAt: rfc3339(last.state.startedAt) } },
      lastState: before === undefined ? {} : terminated(before),
    };
  }
  const off = decision.backingOff.get(name);
  const restarting = off !== undefined || decision.start.some((one) => one.container.name === name);
  if (last !== undefined && !restarting) {
    const succeeded = last.state.phase === 'exited' && last.state.exitCode === 0;
    return {
      ...base,
      ...id(last),
      ready: isInit && succeeded,
      started: false,
      state: terminated(last),
      lastState: before === undefined ? {} : terminated(before),
    };
  }
  // Nothing is known of a Pod that has ended long ago, but what was written then.
  if (last === undefined && recorded !== undefined && isTerminalPhase(pod.status?.phase)) return recorded;
  return {
    ...base,
    ...(last === undefined ? {} : id(last)),
    ready: false,
    started: false,
    state: { waiting: waitingOf(pod, container, facts, off, isInit) },
    lastState: last === undefined ? {} : terminated(last),
  };
}

function waitingOf(
  pod: Pod,
  container: Container,
  facts: PodFacts,
  off: { delayMs: number } | undefined,
  isInit: boolean,
): { reason: string; message?: string } {
  const initial = currentInit(pod, facts);
  if (initial !== undefined && initial.name !== container.name) return { reason: 'PodInitializing' };
  if (off !== undefined) {
    const who = `${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`;
    return {
      reason: 'CrashLoopBackOff',
      message: `back-off ${off.delayMs / 1000}s restarting failed container=${container.name} pod=${who}`,
    };
  }
  const image = facts.images.get(container.name);
  if (image?.state === 'failed') {
    const fresh = facts.now < image.failedAt + pullErrorShownMs;
    if (image.reason !== 'ErrImagePull' || fresh) return { reason: image.reason, message: image.message };
    return {
      reason: 'ImagePullBackOff',
      message: `Back-off pulling image "${container.image}": ErrImagePull: ${image.message}`,
    };
  }
  const blocked = facts.blocked.get(container.name);
  if (blocked !== undefined) return { reason: blocked.reason, message: blocked.message };
  const initialised = !isInit && (pod.spec.initContainers ?? []).length > 0;
  return { reason: initialised ? 'PodInitializing' : 'ContainerCreating' };
}

function conditionsOf(
  pod: Pod,
  phase: PodPhase,
  initStatuses: readonly ContainerStatus[],
  statuses: readonly ContainerStatus[],
  facts: PodFacts,
): PodCondition[] {
  const uninitialised = initStatuses.filter((status) => !status.ready).map(({ name }) => name);
  const unready = statuses.filter((status) => !status.ready).map(({ name }) => name);
  const initialised =
    uninitialised.length === 0 || currentInit(pod, facts) === undefined
      ? yes('Initialized')
      : no(
          'Initialized',
          'ContainersNotInitialized',
          `containers with incomplete status: [${uninitialised.join(' ')}]`,
        );
  const readiness = (type: string): Wanted => {
    if (phase === 'Succeeded') return no(type, 'PodCompleted', '');
    if (phase === 'Failed') return no(type, 'PodFailed', '');
    return unready.length === 0
      ? yes(type)
      : no(type, 'ContainersNotReady', `containers with unready status: [${unready.join(' ')}]`);
  };
  const running = facts.containers.some(({ state }) => state.phase === 'running');
  const wanted: Wanted[] = [
    running ? yes('PodReadyToStartContainers') : no('PodReadyToStartContainers', '', ''),
    initialised,
    readiness('Ready'),
    readiness('ContainersReady'),
  ];
  const old = pod.status?.conditions ?? [];
  const foreign = old.filter(({ type }) => !wanted.some((one) => one.type === type));
  return [
    ...wanted.map((one): PodCondition => {
      const previous = old.find(({ type }) => type === one.type);
      const lastTransitionTime =
        previous?.status === one.status && previous.lastTransitionTime !== undefined
          ? previous.lastTransitionTime
          : rfc3339(facts.now);
      const { reason, message, ...rest } = one;
      return {
        ...rest,
        lastTransitionTime,
        ...(reason === '' ? {} : { reason }),
        ...(message === '' ? {} : { message }),
      };
    }),
    ...foreign,
  ];
}

interface Wanted {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

function yes(type: string): Wanted {
  return { type, status: 'True', reason: '', message: '' };
}

function no(type: string, reason: string, message: string): Wanted {
  return { type, status: 'False', reason, message };
}
