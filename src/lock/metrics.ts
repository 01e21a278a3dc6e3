import type { LockGroup } from './store.ts';

/** What a lock server tells Prometheus. */
export function createLockMetrics(): {
  answered(call: string, answer: { readonly status: number; readonly kind?: string }): void;
  render(groups: readonly LockGroup[], now: number): string;
} {
  const answers = new Map<string, number>();
  return {
    answered(call, { status, kind = 'ok' }) {
      const labels = `{call="${call}",status="${status}",kind="${kind}"}`;
      answers.set(labels, (answers.get(labels) ?? 0) + 1);
    },
    render(groups, now) {
      const lines = [
        '# HELP sluice_lock_answers_total Answers of the FleetLock protocol.',
        '# TYPE sluice_lock_answers_total counter',
        ...[...answers].map(([labels, count]) => `sluice_lock_answers_total${labels} ${count}`),
        '# HELP sluice_lock_slots Nodes of the group that may be away at once.',
        '# TYPE sluice_lock_slots gauge',
        ...groups.map(({ name, slots }) => `sluice_lock_slots{group="${name}"} ${slots}`),
        '# HELP sluice_lock_holders Nodes of the group that are away.',
        '# TYPE sluice_lock_holders gauge',
        ...groups.map(({ name, holders }) => `sluice_lock_holders{group="${name}"} ${holders.length}`),
        '# HELP sluice_lock_oldest_holder_seconds Since when the first of them is.',
        '# TYPE sluice_lock_oldest_holder_seconds gauge',
        ...groups.map(({ name, holders }) => {
          const since = Math.min(now, ...holders.map((holder) => Date.parse(holder.since)));
          return `sluice_lock_oldest_holder_seconds{group="${name}"} ${(now - since) / 1000}`;
        }),
      ];
      return `${lines.join('\n')}\n`;
    },
  };
}
