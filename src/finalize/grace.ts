import type { Clock } from '../observe/clock.ts';
import { type Facts, judgeNode } from './decide.ts';
import type { Hold } from './hold.ts';
import { lastWarningMs } from './users.ts';

/** The time that users are given, once they alone hold a node; they are told when it begins and when little is left. */
export interface Grace {
  /** Since when, as the wall clock counts now; undefined while it has not begun. */
  since(): number | undefined;
  /** Tells the users. It ends with anything else that holds. True where it began now: then all is judged again. */
  look(holds: readonly Hold[], facts: Facts): Promise<boolean>;
}

/** @param warn never throws, never waits for a terminal that does not read. */
export function createGrace(clock: Clock, warn: (message: string) => Promise<void>): Grace {
  let begun: { readonly at: number; readonly warned: boolean } | undefined;
  const since = () => (begun === undefined ? undefined : clock.now() - (clock.monotonic() - begun.at));
  const tell = async (facts: Facts, opensAt: number | undefined) => {
    const version = facts.os.staged?.version ?? 'a new version';
    const seconds = Math.max(0, Math.ceil(((opensAt ?? clock.now()) - clock.now()) / 1000));
    await warn(`This machine reboots into ${version} in ${seconds} seconds.`);
  };
  return {
    since,
    async look(holds, facts) {
      const users = holds.find(({ gate }) => gate === 'users');
      if (users === undefined || holds.length > 1) {
        if (holds.some(({ gate }) => gate !== 'fleet_lock')) begun = undefined;
        return false;
      }
      if (begun === undefined) {
        begun = { at: clock.monotonic(), warned: false };
        const again = judgeNode({ ...facts, graceSince: clock.now() }).holds;
        await tell(facts, again.find(({ gate }) => gate === 'users')?.opensAt);
        return true;
      }
      const leftMs = (users.opensAt ?? clock.now()) - clock.now();
      if (leftMs <= lastWarningMs && !begun.warned) {
        begun = { ...begun, warned: true };
        await tell(facts, users.opensAt);
      }
      return false;
    },
  };
}
