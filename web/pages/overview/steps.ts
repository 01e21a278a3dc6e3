import { bundlesOf, type KnownBundle } from '../../../src/release/known.ts';
import { readRefusal } from '../../../src/update/refusal.ts';
import { conditionOf, controlPlaneOf, type Facts, type Situation, situationOf } from '../../data/facts.ts';
import { words } from '../../words/english.ts';
import { formatBytes, formatSpan } from '../../words/format.ts';

const said = words.overview.stepWords;

export type StepName = keyof typeof words.overview.steps;

/** One step of the way of an update. */
export interface Step {
  readonly name: StepName;
  readonly state: 'done' | 'current' | 'waiting' | 'trouble';
  readonly detail: string;
  /** Since when it is under way. */
  readonly since?: string | undefined;
}

/** The way of the update that is under way, or of the next one. */
export function stepsOf(facts: Facts): Step[] {
  const situation = situationOf(facts);
  const to = targetOf(situation);
  const bundle = bundlesOf(facts.updates).find(({ version }) => version === to);
  const asked = situation.kind === 'asked' || situation.kind === 'updating';
  const content = contentSteps(facts, to, bundle);
  const steps: Step[] = [
    ...content,
    {
      name: 'requested',
      state: asked ? 'done' : 'waiting',
      detail: asked && to !== undefined ? said.requested(to) : said.requestNot,
    },
    acceptedStep(situation),
    ...rolloutSteps(facts, situation),
  ];
  // What lies before a step that is done is over, whatever is left of it: a disk may be taken away.
  const last = steps.findLastIndex(({ state }) => state === 'done');
  return steps.map((step, index) =>
    index < last && step.state === 'waiting' ? { ...step, state: 'done' as const } : step,
  );
}

function targetOf(situation: Situation): string | undefined {
  switch (situation.kind) {
    case 'asked':
    case 'updating':
    case 'installing':
      return situation.to;
    case 'idle':
      return situation.next?.version;
    case 'unknown':
      return undefined;
  }
}

function contentSteps(facts: Facts, to: string | undefined, bundle: KnownBundle | undefined): Step[] {
  if (to === undefined || bundle === undefined) {
    return [
      { name: 'media', state: 'waiting', detail: said.mediaNone },
      { name: 'copied', state: 'waiting', detail: to === undefined ? '' : said.copyNot(to) },
    ];
  }
  const all = controlPlaneOf(facts.nodes);
  const held = bundle.heldBy.filter((node) => all.includes(node)).length;
  const whole = all.length > 0 && held === all.length;
  const copies = facts.updates.flatMap(
    ({ status }) => status?.copies?.filter(({ release }) => release === bundle.name) ?? [],
  );
  const done = copies.reduce((sum, { bytesDone = 0 }) => sum + bytesDone, 0);
  const total = copies.reduce((sum, { bytesTotal = 0 }) => sum + bytesTotal, 0);
  const left = Math.max(0, ...copies.map(({ secondsLeft = 0 }) => secondsLeft));
  const onMedia = bundle.mountedOn.length > 0;
  return [
    {
      name: 'media',
      state: onMedia || whole ? 'done' : 'waiting',
      detail: onMedia
        ? said.mediaOn(to, bundle.mountedOn.join(', '))
        : whole
          ? said.mediaGone
          : said.mediaNone,
    },
    {
      name: 'copied',
      state: whole ? 'done' : copies.length > 0 ? 'current' : 'waiting',
      detail: whole
        ? said.copied(held, all.length)
        : copies.length > 0
          ? said.copying(
              total === 0 ? 0 : Math.floor((done / total) * 100),
              formatBytes(done),
              formatBytes(total),
              left === 0 ? '' : formatSpan(left * 1000),
            )
          : held > 0
            ? said.copied(held, all.length)
            : said.copyNot(to),
    },
  ];
}

function acceptedStep(situation: Situation): Step {
  if (situation.kind === 'updating') return { name: 'accepted', state: 'done', detail: said.accepted };
  if (situation.kind !== 'asked') return { name: 'accepted', state: 'waiting', detail: said.acceptedNot };
  const { refused, message, since } = situation;
  return {
    name: 'accepted',
    state: refused ? 'trouble' : 'current',
    detail: refused ? said.refusedBy(readRefusal(message)?.map(({ name }) => name) ?? []) : said.judged,
    since,
  };
}

function rolloutSteps({ version, operators, updates }: Facts, situation: Situation): Step[] {
  if (situation.kind !== 'updating' && situation.kind !== 'installing') {
    return (['applied', 'rebooted', 'completed'] as const).map((name) => ({
      name,
      state: 'waiting',
      detail: '',
    }));
  }
  const { to, since } = situation;
  const progressing = conditionOf(version, 'Progressing');
  const failing = conditionOf(version, 'Failing')?.status === 'True';
  const behind = operators.filter(({ status }) => !status?.versions?.some((each) => each.version === to));
  const running = updates.filter(({ status }) => status?.booted?.version === to).length;
  // Nodes come last: once one is told to, everything before them is applied.
  const rebooting =
    operators.length > 0 &&
    behind.length === 0 &&
    updates.some(({ status }) => status?.staged?.version === to);
  const applied = rebooting || (running > 0 && running === updates.length);
  return [
    {
      name: 'applied',
      state: applied ? 'done' : failing ? 'trouble' : 'current',
      detail: applied ? said.applied : `${said.applying} ${progressing?.message ?? ''}`,
      since: applied ? undefined : since,
    },
    {
      name: 'rebooted',
      state: applied ? 'current' : 'waiting',
      detail:
        updates.length === 0 ? '' : [said.rebooted(running, updates.length), ...heldBy(updates)].join(' '),
      since: applied ? oldestHold(updates) : undefined,
    },
    { name: 'completed', state: 'waiting', detail: '' },
  ];
}

/** What holds staged nodes, each gate once. */
function heldBy(updates: Facts['updates']): string[] {
  const counts = new Map<string, number>();
  for (const { status } of updates) {
    const gate = status?.staged === undefined ? undefined : status.holds?.[0]?.gate;
    if (gate !== undefined) counts.set(gate, (counts.get(gate) ?? 0) + 1);
  }
  return [...counts].map(
    ([gate, count]) => `${words.overview.problem.held(count, words.gates[gate] ?? gate)}.`,
  );
}

function oldestHold(updates: Facts['updates']): string | undefined {
  return updates
    .flatMap(({ status }) => status?.holds ?? [])
    .map(({ since }) => since)
    .sort()[0];
}
