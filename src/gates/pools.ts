import type { GateFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { findingOf, listed } from './outcome.ts';

/**
 * Whether every pool of nodes would follow: one that a person paused stays behind, a degraded one gets stuck. One that
 * is paused because its window is closed follows when that opens.
 */
export function poolsGate({ cluster }: GateFacts): Finding[] {
  const gate = { name: 'PoolsReady', gate: 'pools', severity: 'warning' } as const;
  return findingOf(gate, cluster.pools, (pools) => {
    const degraded = pools.filter((pool) => pool.degraded !== undefined);
    const paused = pools.filter((pool) => pool.paused === 'person');
    const waiting = pools.filter((pool) => pool.paused === 'window').map((pool) => pool.name);
    if (degraded.length === 0 && paused.length === 0)
      return {
        well:
          waiting.length === 0
            ? 'no pool is paused or degraded'
            : `no pool is degraded, or paused by a person; these follow when their windows open: ${listed(waiting)}`,
      };
    const parts = [
      ...degraded.map((pool) => `${pool.name} is degraded (${pool.degraded})`),
      ...paused.map((pool) => `${pool.name} is paused`),
    ];
    return {
      // A pool that is broken already does not get better by a new image.
      ...(degraded.length > 0 ? { severity: 'blocking' as const } : {}),
      message: `pools of nodes that would not follow: ${listed(parts)}`,
      next: 'Mend degraded pools first; resume paused ones when their nodes may go.',
    };
  });
}
