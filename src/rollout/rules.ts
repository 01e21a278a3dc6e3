import { parse } from 'yaml';
import { isSluiceError, messageOf, SluiceError } from '../errors/error.ts';

/** How the nodes of one pool are updated. */
export interface PoolRule {
  /** How many of the pool may be on their way at once, as a number or as a part of the pool (`10%`, at least one). */
  readonly maxUnavailable: number | `${number}%`;
  /** Nodes that go before all others, by name, or how many of the pool do. */
  readonly canaries: number | readonly string[];
  /** A paused pool is given nothing new. */
  readonly paused: boolean;
}

export interface RolloutRules {
  /** By the name of the pool. */
  readonly pools: ReadonlyMap<string, PoolRule>;
  /**
   * Whether the control plane may stage ahead: all of its nodes are told at once, and the slots of the fleet lock
   * let them go one at a time. Without a lock the rollout itself tells one after the other.
   */
  readonly lockHolds: boolean;
}

export const poolRuleDefault: PoolRule = { maxUnavailable: 1, canaries: 1, paused: false };

/** The pool of workers that name none. */
export const poolDefault = 'worker';
/** On a Node: the pool that it belongs to. */
export const poolLabel = 'sluice.dev/pool';
/** The ConfigMap, beside the trusted keys, whose keys are pools. */
export const rulesConfigMap = 'sluice-rollout';

const rolePrefix = 'node-role.kubernetes.io/';
const plainRoles: readonly string[] = ['worker', 'control-plane', 'master'];
const canariesMax = 100;

/** The pool of a node by its labels: the one that it names, else its own role, else the workers. */
export function poolOf(labels: Readonly<Record<string, string>>): string {
  const named = labels[poolLabel];
  if (named !== undefined && named !== '') return named;
  const role = Object.keys(labels)
    .filter((label) => label.startsWith(rolePrefix))
    .map((label) => label.slice(rolePrefix.length))
    .filter((each) => each !== '' && !plainRoles.includes(each))
    .sort()[0];
  return role ?? poolDefault;
}

/**
 * The rules as people write them: for each pool a small YAML document
 * `{maxUnavailable: 10%, canaries: [node-a], paused: false}`. A rule that cannot be read pauses its pool: nobody
 * knows what it would have held.
 *
 * @returns the rules, and what of them cannot be read, in words.
 */
export function parseRules(data: Readonly<Record<string, string>> | undefined): {
  readonly pools: ReadonlyMap<string, PoolRule>;
  readonly problems: readonly string[];
} {
  const pools = new Map<string, PoolRule>();
  const problems: string[] = [];
  for (const [name, text] of Object.entries(data ?? {})) {
    try {
      pools.set(name, parseRule(text));
    } catch (error) {
      if (!isSluiceError(error)) throw error;
      problems.push(`ConfigMap ${rulesConfigMap}, pool ${name}: ${messageOf(error)}; the pool is paused`);
      pools.set(name, { ...poolRuleDefault, paused: true });
    }
  }
  return { pools, problems };
}

function parseRule(text: string): PoolRule {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw invalid(`it is no YAML: ${messageOf(error)}`);
  }
  if (value === null || value === undefined) return poolRuleDefault;
  if (typeof value !== 'object' || Array.isArray(value)) throw invalid('it is no map');
  const { maxUnavailable, canaries, paused, ...rest } = value as Record<string, unknown>;
  const [foreign] = Object.keys(rest);
  if (foreign !== undefined) throw invalid(`"${foreign}" is not known`);
  return {
    maxUnavailable: maxUnavailable === undefined ? poolRuleDefault.maxUnavailable : limitOf(maxUnavailable),
    canaries: canaries === undefined ? poolRuleDefault.canaries : canariesOf(canaries),
    paused: paused === undefined ? false : flagOf(paused),
  };
}

function limitOf(value: unknown): PoolRule['maxUnavailable'] {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value;
  const percent = typeof value === 'string' ? /^([1-9]\d?|100)%$/.exec(value)?.[1] : undefined;
  if (percent !== undefined) return `${Number(percent)}%`;
  throw invalid('maxUnavailable is neither a number from 1 on nor a percentage such as 10%');
}

function canariesOf(value: unknown): PoolRule['canaries'] {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= canariesMax)
    return value;
  const isNames = Array.isArray(value) && value.every((each) => typeof each === 'string' && each !== '');
  if (isNames && value.length <= canariesMax) return value as string[];
  throw invalid(`canaries is neither a number up to ${canariesMax} nor a list of names of nodes`);
}

function flagOf(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw invalid('paused is neither true nor false');
}

function invalid(message: string): SluiceError {
  return new SluiceError('InputInvalid', message);
}

/** How many nodes the limit is, of a pool of this size: at least one, so that a rollout can end. */
export function limitFor(rule: PoolRule, size: number): number {
  if (typeof rule.maxUnavailable === 'number') return rule.maxUnavailable;
  return Math.max(1, Math.floor((size * Number.parseInt(rule.maxUnavailable, 10)) / 100));
}
