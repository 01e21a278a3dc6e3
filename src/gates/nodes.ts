import type { GateFacts } from './facts.ts';
import type { Finding } from './finding.ts';

/** Whether all nodes are well. It warns only: an update may be what mends a node. */
export function nodesGate({ nodes }: GateFacts): Finding[] {
  if (!nodes.known) return [outcome('Error', nodes.why)];
  const silent = nodes.value.filter((node) => !node.ready);
  const all = nodes.value.length;
  if (silent.length === 0)
    return [outcome('Passed', all === 1 ? 'the only node is ready' : `all ${all} nodes are ready`)];
  return [
    {
      ...outcome('Risk', `not ready: ${silent.map((node) => node.name).join(', ')}`),
      next: 'Bring them back first, or take them out of the cluster; how each stands: sluice upgrade status --details=nodes.',
      objects: silent.map((node) => `node/${node.name}`),
    },
  ];
}

function outcome(result: Finding['result'], message: string): Finding {
  return { name: 'NodesReady', gate: 'nodes', severity: 'warning', result, message };
}
