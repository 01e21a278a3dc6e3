import type { Condition } from '../api/core.ts';
import type { ContentNodeStatus } from './status.ts';

/** Lets what matters through at once, and the same again with other numbers only now and then. */
export interface WritePace {
  /** @param essence what matters, without what only counts. */
  isDue(essence: string, now: number): boolean;
  /** What was let through last was not written. */
  forget(): void;
}

export function createWritePace(everyMs: number): WritePace {
  let said: string | undefined;
  let at = Number.NEGATIVE_INFINITY;
  return {
    isDue(essence, now) {
      if (essence === said && now - at < everyMs) return false;
      said = essence;
      at = now;
      return true;
    },
    forget() {
      said = undefined;
    },
  };
}

/** What a NodeUpdate says, without how far copies are. */
export function withoutProgress(status: ContentNodeStatus): unknown {
  const copies = status.copies.map(({ release, state, reason, message, bytesTotal }) => {
    return { release, state, reason, message, bytesTotal };
  });
  return { ...status, copies };
}

/** What a MachineConfigNode says, without the words on how far copies are: any other message is news. */
export function withoutMessages(after: {
  readonly conditions: readonly Condition[];
  readonly internalReleaseImage: {
    readonly releases: readonly { readonly conditions: readonly Condition[] }[];
  } | null;
}): unknown {
  const releases = after.internalReleaseImage?.releases.map((each) => ({
    ...each,
    conditions: each.conditions.map((one) =>
      one.type === 'Installing' && ['Copying', 'Verifying'].includes(one.reason)
        ? { ...one, message: '' }
        : one,
    ),
  }));
  return { conditions: after.conditions, releases };
}
