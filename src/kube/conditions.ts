import type { Condition, ConditionStatus } from '../api/core.ts';
import { rfc3339 } from '../observe/clock.ts';

/** What a condition should say; when it changed is found out. */
export interface ConditionUpdate {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
}

interface AnyCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  observedGeneration?: number;
}

/**
 * The conditions with this one in them. `lastTransitionTime` moves only when `status` does. Returns the very
 * same array when nothing changed, so that `===` tells whether a write is needed.
 * @param nowMs milliseconds since the epoch.
 */
export function setCondition<C extends AnyCondition = Condition>(
  conditions: readonly C[] | undefined,
  update: ConditionUpdate,
  nowMs: number,
): C[] {
  const standing = conditions ?? [];
  const previous = standing.find((condition) => condition.type === update.type);
  if (previous !== undefined && sameCondition(previous, update)) return standing as C[];
  const lastTransitionTime =
    previous?.status === update.status && previous.lastTransitionTime !== undefined
      ? previous.lastTransitionTime
      : rfc3339(nowMs);
  const condition = { ...update, lastTransitionTime } as unknown as C;
  return previous === undefined
    ? [...standing, condition]
    : standing.map((other) => (other === previous ? condition : other));
}

function sameCondition(a: AnyCondition, b: ConditionUpdate): boolean {
  return (
    a.status === b.status &&
    (a.reason ?? '') === b.reason &&
    (a.message ?? '') === b.message &&
    a.observedGeneration === b.observedGeneration
  );
}

/** The conditions without this type; the very same array where it was not there. */
export function removeCondition<C extends { type: string }>(
  conditions: readonly C[] | undefined,
  type: string,
): C[] {
  const standing = conditions ?? [];
  return standing.some((condition) => condition.type === type)
    ? standing.filter((condition) => condition.type !== type)
    : (standing as C[]);
}

export function findCondition<C extends { type: string }>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Whether the condition is there and has this status. */
export function conditionIs(
  conditions: readonly { type: string; status: string }[] | undefined,
  type: string,
  status: ConditionStatus,
): boolean {
  return findCondition(conditions, type)?.status === status;
}
