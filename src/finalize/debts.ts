import { messageOf } from '../errors/error.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { LockAnswer, LockRequest } from './fleet-lock.ts';
import type { Debt, MemoryFile } from './memory.ts';

const retryMs = 60_000;
/** The longest that a configuration can make a slot wait; milliseconds. */
const waitMsMax = 366 * 24 * 3600_000;

export function sameLock(a: LockRequest, b: LockRequest): boolean {
  return a.baseUrl === b.baseUrl && a.id === b.id && a.group === b.group;
}

/**
 * Gives slots back beside everything else: a lock server that hangs or is gone keeps no node from its next update,
 * and what is owed stays on disk until the server has taken it.
 */
export function createDebts(options: {
  readonly memory: MemoryFile;
  readonly steadyState: (request: LockRequest) => Promise<LockAnswer>;
  readonly clock: Clock;
  readonly logger: Logger;
}): {
  /** @param waitMs it is not given back sooner: the node proves itself first. */
  owe(lock: LockRequest, waitMs: number): Promise<void>;
  /** The slot is taken again under the same identity: it is not owed any more. */
  cancel(lock: LockRequest): Promise<void>;
  /** Pays what is due, if nothing is being paid already. Returns at once. */
  settle(): void;
  /** Milliseconds until the next debt is due; undefined where there is none. */
  dueInMs(): number | undefined;
  settled(): Promise<void>;
} {
  const { memory, clock, logger } = options;
  let paying: Promise<void> | undefined;
  /** By the monotonic clock. */
  let notBefore = 0;
  /** When a debt is due by the monotonic clock: the wall clock may be set while it is owed. */
  const due = new Map<Debt, number>();

  function leftMs(debt: Debt): number {
    let at = due.get(debt);
    if (at === undefined) {
      // From before this start: by the wall clock, but never longer than it was meant to wait.
      at = clock.monotonic() + Math.min(Math.max(0, debt.after - clock.now()), debt.waitMs ?? waitMsMax);
      due.set(debt, at);
    }
    return Math.max(0, at - clock.monotonic());
  }

  async function pay(): Promise<void> {
    for (const debt of memory.now.debts.filter((each) => leftMs(each) === 0)) {
      const answer = await options.steadyState(debt.lock);
      if (answer.kind === 'granted') {
        await memory.remember({ debts: memory.now.debts.filter((other) => other !== debt) });
        due.delete(debt);
        logger.info({ group: debt.lock.group }, 'slot given back');
      } else {
        notBefore = clock.monotonic() + retryMs;
        logger.warn({ error: answer.message }, 'the slot could not be given back; trying again');
      }
    }
  }

  return {
    async owe(lock, waitMs) {
      const debt = { lock, after: clock.now() + waitMs, waitMs };
      due.set(debt, clock.monotonic() + waitMs);
      const others = memory.now.debts.filter((other) => !sameLock(other.lock, lock));
      await memory.remember({ debts: [...others, debt] });
      notBefore = 0;
    },
    async cancel(lock) {
      await paying;
      const debts = memory.now.debts.filter((debt) => !sameLock(debt.lock, lock));
      if (debts.length < memory.now.debts.length) await memory.remember({ debts });
    },
    settle() {
      const isDue = memory.now.debts.some((debt) => leftMs(debt) === 0);
      if (paying !== undefined || !isDue || clock.monotonic() < notBefore) return;
      paying = pay()
        .catch((error) => logger.warn({ error: messageOf(error) }, 'the slot could not be given back'))
        .finally(() => {
          paying = undefined;
        });
    },
    dueInMs() {
      const left = memory.now.debts.map((debt) => Math.max(leftMs(debt), notBefore - clock.monotonic()));
      return left.length === 0 ? undefined : Math.min(...left);
    },
    settled: async () => {
      await paying;
    },
  };
}
