import type { GateFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { findingOf, listed } from './outcome.ts';

/** Milliseconds by which clocks may differ; certificates, leases and windows are judged by them. */
const toleranceMs = 10_000;

/** Whether the nodes agree with the control plane what time it is, as their heartbeats tell. */
export function clocksGate({ cluster }: GateFacts): Finding[] {
  const gate = { name: 'ClockSkew', gate: 'clocks', severity: 'warning' } as const;
  return findingOf(gate, cluster.clocks, (clocks) => {
    const off = clocks.filter(({ aheadMs }) => aheadMs === undefined || Math.abs(aheadMs) > toleranceMs);
    if (off.length === 0) return { well: 'the clocks of the nodes agree' };
    const words = off.map(({ node, aheadMs }) => {
      if (aheadMs === undefined) return `${node} (no heartbeat tells)`;
      const seconds = Math.round(Math.abs(aheadMs) / 1000);
      return `${node} (${seconds} s ${aheadMs > 0 ? 'ahead' : 'behind'})`;
    });
    return {
      message: `clocks that are wrong or not known: ${listed(words)}`,
      next: 'Set the time of those nodes and see that their agents run; windows and certificates are judged by it.',
      objects: off.map(({ node }) => `node/${node}`),
    };
  });
}
