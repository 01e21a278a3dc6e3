import type { GateFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { findingOf, listed } from './outcome.ts';

/** Whether control-plane nodes have room: each counts for itself before it copies, and says so here. */
export function spaceGate({ cluster }: GateFacts): Finding[] {
  const gate = { name: 'DiskSpace', gate: 'space', severity: 'blocking' } as const;
  return findingOf(gate, cluster.storage, (nodes) => {
    const short = nodes.filter((node) => node.diskPressure || node.full !== undefined);
    if (short.length === 0) return { well: 'no control-plane node is short of space' };
    const words = short.map(({ node, full }) => `${node} (${full ?? 'the kubelet reports DiskPressure'})`);
    return {
      message: `control-plane nodes without enough space: ${listed(words)}`,
      next: 'Free space, for instance of releases that nothing uses: sluice release ls.',
      objects: short.map(({ node }) => `node/${node}`),
    };
  });
}
