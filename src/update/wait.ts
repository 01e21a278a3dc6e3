/** Something that the walk waits for, or that stands in its way. */
export interface PassWait {
  readonly message: string;
  /** Why it fails, as the Failing condition names it; absent where it only takes its time. */
  readonly failing?: string;
  /** The cluster operator that is waited for. */
  readonly operator?: string;
  /** Whether it waits for an object that the payload deletes. */
  readonly deletes?: true;
  /** Since when, in milliseconds since the epoch; absent where neither the object nor anybody else has counted. */
  readonly since?: number;
}

/** What one look at a task found, before it is known how long that has stood. */
export interface TaskWait extends PassWait {
  /** Milliseconds that it may stand before it counts as failing. */
  readonly toleratedMs?: number;
}

/** Milliseconds that an operator may be degraded before the update fails by it. */
export const degradedToleratedMs = 40 * 60_000;
/** Milliseconds after which an operator is called slow; the machine-config operator moves whole nodes. */
const slowMs = 30 * 60_000;
const slowMsMachineConfig = 90 * 60_000;

const sinceWords = ', since ';
/** Characters of a time to the minute: 2026-01-01T12:00Z. */
const minuteChars = 17;

/** Milliseconds that a wait must stand before people are told since when, so that short ones change no status. */
const sinceShownMs = 60_000;

/**
 * Since when each task waits for the same thing, so that a restart changes nothing: as its object tells; else as was told
 * of it before, which stands in the ClusterVersion; else from when it was first seen.
 */
export class WaitTimes {
  readonly #toldBefore: string;
  readonly #since = new Map<string, { kind: string; since: number }>();

  /** @param toldBefore the message in which waits were told with their times, by a controller before this one. */
  constructor(toldBefore = '') {
    this.#toldBefore = toldBefore;
  }

  /**
   * The wait with its time; what is tolerated for a while does not fail before.
   *
   * @param startedAt when the walk began, in milliseconds since the epoch: what stood before it was not waited for.
   */
  note(task: string, wait: TaskWait, now: number, startedAt = 0): PassWait {
    const kind = `${wait.failing ?? ''} ${wait.operator ?? ''}`;
    const standing = this.#since.get(task);
    const told = Math.min(now, Math.max(wait.since ?? this.#recalled(wait.message) ?? now, startedAt));
    const since = standing?.kind === kind ? Math.min(standing.since, told) : told;
    this.#since.set(task, { kind, since });
    const { toleratedMs = 0, failing, ...rest } = wait;
    const fails = failing !== undefined && now - since >= toleratedMs;
    return { ...rest, since, ...(fails ? { failing } : {}) };
  }

  #recalled(message: string): number | undefined {
    const words = `${message}${sinceWords}`;
    const at = this.#toldBefore.indexOf(words);
    if (at === -1) return undefined;
    const time = Date.parse(this.#toldBefore.slice(at + words.length).slice(0, minuteChars));
    return Number.isNaN(time) ? undefined : time;
  }

  done(task: string): void {
    this.#since.delete(task);
  }
}

/** The words of a wait, with since when it stands where that has become long. */
export function waitText({ message, since }: PassWait, now: number): string {
  if (since === undefined || now - since < sinceShownMs) return message;
  return `${message}${sinceWords}${new Date(since).toISOString().slice(0, 16)}Z`;
}

/** Operators that take longer than they should; sorted. */
export function slowOperators(waiting: readonly PassWait[], now: number): string[] {
  return waiting
    .flatMap(({ operator, since }) => {
      if (operator === undefined || since === undefined) return [];
      const limit = operator === 'machine-config' ? slowMsMachineConfig : slowMs;
      return now - since >= limit ? [operator] : [];
    })
    .sort();
}
