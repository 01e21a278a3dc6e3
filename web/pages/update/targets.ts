import type { UpdatePreflight } from '../../../src/api/resources.ts';
import { implicitName } from '../../../src/gates/run-request.ts';
import { newestFirst } from '../../../src/gates/version.ts';
import { bundlesOf, type KnownBundle } from '../../../src/release/known.ts';
import { controlPlaneOf, type Facts, situationOf } from '../../data/facts.ts';
import { words } from '../../words/english.ts';

const said = words.update;

/** How a version stands to the one that runs. */
export type Reach = keyof typeof said.graphStates;

/** A release that is at hand, as a place to go to. */
export interface Target {
  readonly version: string;
  readonly bundle: KnownBundle;
  readonly reach: Reach;
  /** Why it cannot be gone to; undefined where nothing is known against it. */
  readonly why: string | undefined;
  /** Whether every control-plane node holds it. */
  readonly everywhere: boolean;
  readonly content: string;
  /** The report that commands, updates and this console share for it. */
  readonly preflight: UpdatePreflight | undefined;
}

/** Every release at hand, newest first. */
export function targetsOf(facts: Facts): Target[] {
  const current = currentVersion(facts);
  const nodes = controlPlaneOf(facts.nodes);
  return bundlesOf(facts.updates)
    .map((bundle) => targetOf(facts, bundle, current, nodes.length))
    .sort((a, b) => newestFirst(a.version, b.version));
}

/** The version that the cluster has, or goes to. */
export function currentVersion(facts: Facts): string {
  return facts.version?.status?.desired.version ?? '';
}

function targetOf(facts: Facts, bundle: KnownBundle, current: string, nodes: number): Target {
  const { version, payload, heldBy, mountedOn } = bundle;
  const preflight = facts.preflights.find(({ metadata }) => metadata.name === implicitName(payload));
  const everywhere = nodes > 0 && heldBy.length >= nodes;
  const content = everywhere
    ? said.content.everywhere
    : [
        ...(heldBy.length > 0 ? [said.content.some(heldBy.length, nodes)] : []),
        ...(mountedOn.length > 0 ? [said.content.media(mountedOn.join(', '))] : []),
      ].join(', ');
  return { version, bundle, everywhere, content, preflight, ...reachOf(facts, bundle, current, preflight) };
}

function reachOf(
  { version }: Facts,
  { version: to, payload }: KnownBundle,
  current: string,
  preflight: UpdatePreflight | undefined,
): Pick<Target, 'reach' | 'why'> {
  const status = version?.status;
  const is = (image: string) => image.endsWith(`@${payload}`);
  const [latest] = status?.history ?? [];
  const isAtRest = latest === undefined || latest.state === 'Completed';
  if (status !== undefined && is(status.desired.image))
    return { reach: isAtRest ? 'current' : 'coming', why: undefined };
  // Until the update is completed there are nodes that run what was completed last.
  const last = status?.history?.find(({ state }) => state === 'Completed');
  if (!isAtRest && last !== undefined && is(last.image)) return { reach: 'leaving', why: undefined };
  const verdict = preflight?.status?.verdict;
  const stands = verdict === 'Blocked' || verdict === 'Incomplete' ? preflight?.status?.message : undefined;
  const conditional = status?.conditionalUpdates?.find(({ release }) => is(release.image));
  if (conditional !== undefined) {
    const names = conditional.risks.map(({ name }) => name).join(', ');
    return { reach: 'blocked', why: said.conditionalRisks(names) };
  }
  if (status?.availableUpdates?.some(({ image }) => is(image)) === true) {
    return stands === undefined ? { reach: 'reachable', why: undefined } : { reach: 'blocked', why: stands };
  }
  if (newestFirst(to, current) > 0) return { reach: 'past', why: said.behind };
  return { reach: 'unreachable', why: said.noWay(current) };
}

/** Why an update to it makes no sense to ask for now; undefined where it does. */
export function whyNotStart(facts: Facts, target: Target): string | undefined {
  const situation = situationOf(facts);
  if (situation.kind === 'updating' && situation.to === target.version) return said.underWay(target.version);
  if (target.reach === 'current') return said.runs(target.version);
  if (target.reach === 'coming') return said.underWay(target.version);
  if (['unreachable', 'past', 'leaving'].includes(target.reach)) return said.noWayNow(currentVersion(facts));
  return undefined;
}
