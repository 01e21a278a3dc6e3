import type { Event } from '../api/core.ts';
import { messageOf } from '../errors/error.ts';
import type { ControllerContext } from './context.ts';

/** An event is kept for this long after it was last counted (kube-apiserver, --event-ttl). */
export const eventKeptMs = 3_600_000;
const intervalMs = 300_000;

/** Unix milliseconds of what an event last said; undefined where it does not say. */
export function lastSaid(event: Event): number | undefined {
  const { series } = event as { series?: { lastObservedTime?: string } };
  const times = [
    series?.lastObservedTime,
    event.lastTimestamp,
    event.eventTime,
    event.firstTimestamp,
    event.metadata.creationTimestamp,
  ];
  return times.map((time) => Date.parse(time ?? '')).find(Number.isFinite);
}

/** Deletes events that have become old: the real API's database forgets them by itself. */
export async function runEventExpiry({ client, logger, signal, clock }: ControllerContext): Promise<void> {
  const { Event } = client.kinds;
  while (!signal.aborted) {
    await clock.sleep(intervalMs, signal);
    if (signal.aborted) return;
    try {
      for await (const { items } of client.pages(Event, { signal })) {
        for (const event of items) {
          const { name, namespace = '', uid, resourceVersion } = event.metadata;
          if (clock.now() - (lastSaid(event) ?? clock.now()) < eventKeptMs) continue;
          const same = uid === undefined || resourceVersion === undefined ? {} : { uid, resourceVersion };
          await client.delete(Event, name, { namespace, ...same });
        }
      }
    } catch (error) {
      // The next round takes what this one has left, and what was counted anew in between.
      if (!signal.aborted) logger.debug({ error: messageOf(error) }, 'old events were not deleted');
    }
  }
}
