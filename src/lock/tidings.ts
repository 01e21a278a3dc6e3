import type { FleetLockGroup } from '../api/resources.ts';
import { messageOf } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { recordEvent } from '../kube/events.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';

/** What happens to the slots of a group, told to people. Never throws, never holds anybody up. */
export type Tidings = (
  group: string,
  news: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string },
) => void;

/** Events on the FleetLockGroup, so that nobody has to guess later who was away when. */
export function createTidings(client: KubeClient, options: { logger: Logger; clock: Clock }): Tidings {
  const kind = client.kinds.FleetLockGroup;
  let last: Promise<void> = Promise.resolve();
  const write = async (...[name, news]: Parameters<Tidings>) => {
    const object = await client.tryGet<FleetLockGroup>(kind, name);
    if (object === undefined) return;
    await recordEvent(client, { kind, object, component: 'sluice-lock', clock: options.clock, ...news });
  };
  return (name, news) => {
    last = last
      .then(() => write(name, news))
      .catch((error) => options.logger.warn({ reason: news.reason, error: messageOf(error) }, 'event lost'));
  };
}

/** Where there is no API to hold events, the log has them. */
export function logTidings(logger: Logger): Tidings {
  return (group, { type, reason, message }) =>
    type === 'Warning' ? logger.warn({ group, reason }, message) : logger.info({ group, reason }, message);
}

export function slotGranted(who: string, at: string): Parameters<Tidings>[1] {
  return {
    type: 'Normal',
    reason: 'SlotGranted',
    message: `${who} may reboot: its slot was granted at ${at}`,
  };
}
