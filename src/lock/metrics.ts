import type { Metrics } from '../observe/metrics.ts';
import type { LockGroup } from './store.ts';

/**
 * What a lock server tells Prometheus.
 *
 * @param groups the groups as they stand now; asked at each scrape.
 */
export function createLockMetrics(
  metrics: Metrics,
  groups: () => Promise<readonly LockGroup[]>,
  now: () => number,
): { answered(call: string, answer: { readonly status: number; readonly kind?: string }): void } {
  const answers = metrics.counter('sluice_lock_answers_total', 'Answers of the FleetLock protocol.', [
    'call',
    'status',
    'kind',
  ]);
  const slots = metrics.gauge('sluice_lock_slots', 'Nodes of the group that may be away at once.', ['group']);
  const holders = metrics.gauge('sluice_lock_holders', 'Nodes of the group that are away.', ['group']);
  const oldest = metrics.gauge(
    'sluice_lock_oldest_holder_age_seconds',
    'For how long the first of them is.',
    ['group'],
  );
  metrics.beforeRender(async () => {
    const at = now();
    const standing = await groups();
    slots.replace(standing.map((each) => [{ group: each.name }, each.slots]));
    holders.replace(standing.map((each) => [{ group: each.name }, each.holders.length]));
    oldest.replace(
      standing.map(({ name, holders: away }) => {
        const since = Math.min(at, ...away.map((holder) => Date.parse(holder.since)));
        return [{ group: name }, (at - since) / 1000] as const;
      }),
    );
  });
  return {
    answered: (call, { status, kind = 'ok' }) => answers.add({ call, status: String(status), kind }),
  };
}
