import type { ClusterOperator, NodeUpdate, UpdatePreflight } from '../../../src/api/resources.ts';
import { readRefusal } from '../../../src/update/refusal.ts';
import { conditionOf, type Facts, notReady, openRequest, situationOf } from '../../data/facts.ts';
import type { Problem } from '../../data/problem.ts';
import { words } from '../../words/english.ts';

const said = words.overview.problem;
const levels: readonly Problem['level'][] = ['danger', 'warning', 'info'];
/** Names that a problem lists; the rest is counted. */
const namesShown = 5;

/** Everything that needs a person, worst first. `now` in Unix milliseconds. */
export function problemsOf(facts: Facts, now: number): Problem[] {
  const found = [
    ...ofVersion(facts),
    ...facts.operators.flatMap(ofOperator),
    ...ofNodes(facts),
    ...ofHolds(facts.updates),
    ...ofReleases(facts),
    ...ofMedia(facts.updates),
    ...ofLocks(facts, now),
    ...ofPreflights(facts),
  ];
  return found.sort((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level));
}

function ofVersion(facts: Facts): Problem[] {
  const situation = situationOf(facts);
  const found: Problem[] = [];
  const failing = conditionOf(facts.version, 'Failing');
  if (failing !== undefined && failing.status !== 'False' && situation.kind !== 'unknown') {
    const isTrue = failing.status === 'True';
    found.push(
      told(failing, {
        id: 'failing',
        level: isTrue ? 'danger' : 'warning',
        title: isTrue ? said.failing : said.slow,
        next: { text: said.nextSee, to: { page: 'update' } },
      }),
    );
  }
  const request = openRequest(situation);
  if (request?.refused === true) {
    const { to, message, since } = request;
    found.push({
      id: 'refused',
      // The update that is under way goes on.
      ...(situation.kind === 'updating'
        ? { level: 'warning', title: said.otherRefused(to, situation.to) }
        : { level: 'danger', title: said.refused(to) }),
      detail: refusalText(message),
      since,
      next: { text: said.nextSee, to: { page: 'update', target: to } },
    });
  }
  return found;
}

/** A problem in the words of the condition that tells it. */
function told(
  condition: { readonly message?: string; readonly lastTransitionTime?: string },
  problem: Omit<Problem, 'detail' | 'since'>,
): Problem {
  return { ...problem, detail: condition.message ?? '', since: condition.lastTransitionTime };
}

/** Each finding on a line, with what to do; the cluster's words as they are where they are others. */
function refusalText(message: string): string {
  const found = readRefusal(message);
  if (found === undefined) return message;
  return found
    .map(
      ({ name, message: words, next }) =>
        `${name}: ${words}${next === undefined ? '' : `\n${said.todo} ${next}`}`,
    )
    .join('\n');
}

function ofOperator(operator: ClusterOperator): Problem[] {
  const { name } = operator.metadata;
  const down = conditionOf(operator, 'Available');
  const degraded = conditionOf(operator, 'Degraded');
  const [condition, title] =
    down?.status === 'False'
      ? [down, said.operatorDown(name)]
      : degraded?.status === 'True'
        ? [degraded, said.operatorDegraded(name)]
        : [];
  if (condition === undefined || title === undefined) return [];
  const next = { text: said.nextOperator, to: { page: 'update', operator: name } } as const;
  return [told(condition, { id: `operator-${name}`, level: 'danger', title, next })];
}

function ofNodes({ nodes, updates }: Facts): Problem[] {
  const see = (name: string) => ({ text: said.nextNode, to: { page: 'nodes', name } }) as const;
  const degraded = updates.flatMap((update): Problem[] => {
    const condition = conditionOf(update, 'Degraded');
    const { name } = update.metadata;
    return condition?.status === 'True'
      ? [
          told(condition, {
            id: `node-${name}`,
            level: 'danger',
            title: said.nodeDegraded(name),
            next: see(name),
          }),
        ]
      : [];
  });
  const rebooting = new Set(
    updates.filter(({ status }) => status?.state === 'Finalizing').map(({ metadata }) => metadata.name),
  );
  const absent = nodes.flatMap((node): Problem[] => {
    const { name } = node.metadata;
    const ready = notReady(node);
    // A node that reboots is not ready, as it should be.
    if (ready === undefined || rebooting.has(name)) return [];
    return [
      told(ready, { id: `ready-${name}`, level: 'danger', title: said.nodeNotReady(name), next: see(name) }),
    ];
  });
  return [...degraded, ...absent];
}

/** What holds staged nodes, one problem for each gate: a person thinks of windows, not of two hundred nodes. */
function ofHolds(updates: readonly NodeUpdate[]): Problem[] {
  const gates = new Map<string, { nodes: string[]; messages: Set<string>; since: string }>();
  for (const { metadata, status } of updates) {
    const [hold] = status?.holds ?? [];
    if (hold === undefined || status?.staged === undefined) continue;
    const known = gates.get(hold.gate) ?? { nodes: [], messages: new Set<string>(), since: hold.since };
    known.messages.add(hold.message);
    known.nodes.push(metadata.name);
    if (hold.since < known.since) known.since = hold.since;
    gates.set(hold.gate, known);
  }
  return [...gates].map(
    ([
      gate,
      {
        nodes,
        messages: [message = '', ...others],
        since,
      },
    ]) => ({
      id: `held-${gate}`,
      // Another node has the slot, and it goes on by itself.
      level: gate === 'fleet_lock' ? 'info' : 'warning',
      title: said.held(nodes.length, words.gates[gate] ?? gate),
      // Nodes may say it differently: then the first speaks, by its name.
      detail: `${said.holdNames(words.count.listed(nodes, namesShown))}\n${others.length === 0 ? message : `${nodes[0]}: ${message}`}`,
      since,
      next:
        gate === 'marker_file'
          ? { text: said.nextWindow, window: nodes, to: { page: 'nodes', filter: gate } }
          : nodes.length === 1
            ? { text: said.nextNode, to: { page: 'nodes', name: nodes[0] ?? '' } }
            : { text: said.nextHeld, to: { page: 'nodes', filter: gate } },
    }),
  );
}

function ofReleases({ images, updates }: Facts): Problem[] {
  const see = (name: string) => ({ text: said.nextRelease, to: { page: 'releases', name } }) as const;
  const degraded = (images?.status?.releases ?? []).flatMap((release): Problem[] => {
    const { name } = release;
    const condition = conditionOf({ status: release }, 'Degraded');
    if (condition?.status !== 'True') return [];
    return [
      told(condition, {
        id: `release-${name}`,
        level: 'warning',
        title: said.releaseDegraded(name),
        next: see(name),
      }),
    ];
  });
  const known = new Set(degraded.map(({ id }) => id));
  const copies = new Map<string, Problem>();
  for (const { metadata, status } of updates) {
    for (const { release, state, message = '' } of status?.copies ?? []) {
      const paused = state === 'Paused';
      if (known.has(`release-${release}`) || (state !== 'Failed' && !paused)) continue;
      const id = `copy-${release}`;
      if (copies.has(id)) continue;
      copies.set(id, {
        id,
        level: paused ? 'info' : 'warning',
        title: paused ? said.copyPaused(release) : said.copyFailed(release),
        detail: `${metadata.name}: ${message}`,
        next: see(release),
      });
    }
  }
  return [...degraded, ...copies.values()];
}

function ofMedia(updates: readonly NodeUpdate[]): Problem[] {
  return updates.flatMap(({ metadata, status }) =>
    (status?.media ?? [])
      .filter(({ verified }) => verified !== true)
      .map(
        ({ name, path = '', message = '' }): Problem => ({
          id: `media-${metadata.name}-${name}-${path}`,
          level: 'warning',
          title: said.mediaRefused(metadata.name),
          detail: `${name}: ${message}`,
          next: { text: said.nextAttach, to: { page: 'releases' } },
        }),
      ),
  );
}

const overdueSecondsDefault = 3_600;

function ofLocks({ locks }: Facts, now: number): Problem[] {
  return locks.flatMap(({ spec, status }) =>
    (status?.holders ?? [])
      .filter(({ since }) => now - Date.parse(since) > (spec.overdueSeconds ?? overdueSecondsDefault) * 1000)
      .map(
        ({ id, node = id, since, message = '' }): Problem => ({
          id: `lock-${id}`,
          level: 'danger',
          title: said.lockOverdue(node),
          detail: message,
          since,
          next: { text: said.nextLock, to: { page: 'nodes', name: node } },
        }),
      ),
  );
}

/**
 * Reports that stand against a release that is asked for, until its refusal tells of them; a report on one that nobody
 * asks for is no trouble of the cluster, and stays on its own page.
 */
function ofPreflights(facts: Facts): Problem[] {
  const situation = situationOf(facts);
  const current = facts.version?.status?.desired.image.split('@')[1];
  return facts.preflights.flatMap(({ metadata, spec, status }: UpdatePreflight): Problem[] => {
    if (status?.verdict !== 'Blocked' && status?.verdict !== 'Incomplete') return [];
    if (status.target?.digest === current) return [];
    const version = status.target?.version ?? spec.version ?? '';
    const request = openRequest(situation);
    if (request === undefined || request.refused) return [];
    if (request.to !== version && !request.to.endsWith(`@${status.target?.digest}`)) return [];
    return [
      {
        id: `preflight-${metadata.name}`,
        level: 'warning',
        title: said.preflight(version),
        detail: status.message ?? '',
        since: status.finishedAt,
        next: { text: said.nextPreflight, to: { page: 'preflight', name: metadata.name } },
      },
    ];
  });
}
