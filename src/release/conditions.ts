import type { Condition } from '../api/core.ts';
import { rfc3339 } from '../observe/clock.ts';

/** A condition before it is known when it last turned. */
export type DraftCondition = Omit<Condition, 'lastTransitionTime'>;

/** Bytes of a condition's message at most; the schema allows 32 768, a reader much less. */
const messageLengthMax = 2000;

/** Node names shown in one message before the rest is only counted. */
const namesShownMax = 10;

/**
 * The conditions as they are stored: the time moves only where the status moves, so that the
 * same input gives the same bytes.
 *
 * @param now milliseconds since the epoch.
 */
export function stampConditions(
  previous: readonly Condition[] | undefined,
  drafts: readonly DraftCondition[],
  now: number,
): Condition[] {
  return drafts.map((draft) => {
    const before = previous?.find((condition) => condition.type === draft.type);
    const lastTransitionTime = before?.status === draft.status ? before.lastTransitionTime : rfc3339(now);
    return { ...draft, message: capped(draft.message), lastTransitionTime };
  });
}

function capped(message: string): string {
  return message.length <= messageLengthMax ? message : `${message.slice(0, messageLengthMax - 1)}…`;
}

/** `[a, b]`, sorted; after ten names only how many more. The form is upstream's own. */
export function nameList(names: Iterable<string>): string {
  const sorted = [...new Set(names)].sort();
  const shown = sorted.slice(0, namesShownMax);
  const rest = sorted.length - shown.length;
  return `[${shown.join(', ')}]${rest > 0 ? ` and ${rest} more` : ''}`;
}

export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}
