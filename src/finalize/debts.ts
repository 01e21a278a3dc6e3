import { messageOf } from '../errors/error.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { LockAnswer, LockRequest } from './fleet-lock.ts';
import type { Debt, MemoryFile } from './memory.ts';

const retryMs = 60_000;

export function sameLock(a: LockRequest, b: LockRequest): boolean {
  return a.baseUrl === b.baseUrl && a.id === b.id && a.group === b.group;
}

/**
 * Gives slots back beside everything else: a lock server that hangs or is gone keeps no node from its next update
 * (case B34), and what is owed stays on disk until the server has taken it.
 */
export function createDebts(options: {
  readonly memory: MemoryFile;
  readonly steadyState: (request: LockRequest) => Promise<LockAnswer>;
  readonly clock: Clock;
  readonly logger: Logger;
}): {
  owe(debt: Debt): Promise<void>;
  /** The slot is taken again under the same identity: it is not owed any more. */
  cancel(lock: LockRequest): Promise<void>;
  /** Pays what is due, if nothing is being paid already. Returns at once. */
  settle(): void;
  /** When the next debt is due; undefined where there is none. */
  dueAt(): number | undefined;
  settled(): Promise<void>;
} {
  const { memory, clock, logger } = options;
  let paying: Promise<void> | undefined;
  let notBefore = 0;

  async function pay(): Promise<void> {
    for (const debt of memory.now.debts.filter(({ after }) => after <= clock.now())) {
      const answer = await options.steadyState(debt.lock);
      if (answer.kind === 'granted') {
        await memory.remember({ debts: memory.now.debts.filter((other) => other !== debt) });
        logger.info({ group: debt.lock.group }, 'slot given back');
      } else {
        notBefore = clock.now() + retryMs;
        logger.warn({ error: answer.message }, 'the slot could not be given back; trying again');
      }
    }
  }

  return {
    async owe(debt) {
      const others = memory.now.debts.filter(({ lock }) => !sameLock(lock, debt.lock));
      await memory.remember({ debts: [...others, debt] });
      notBefore = 0;
    },
    async cancel(lock) {
      await paying;
      const debts = memory.now.debts.filter((debt) => !sameLock(debt.lock, lock));
      if (debts.length < memory.now.debts.length) await memory.remember({ debts });
    },
    settle() {
      const due = memory.now.debts.some(({ after }) => after <= clock.now());
      if (paying !== undefined || !due || clock.now() < notBefore) return;
      paying = pay()
        .catch((error) => logger.warn({ error: messageOf(error) }, 'the slot could not be given back'))
        .finally(() => {
          paying = undefined;
        });
    },
    dueAt() {
      const due = memory.now.debts.map(({ after }) => Math.max(after, notBefore));
      return due.length === 0 ? undefined : Math.min(...due);
    },
    settled: async () => {
      await paying;
    },
  };
}
