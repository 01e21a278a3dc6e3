import type { GateFacts } from './facts.ts';
import type { Finding } from './finding.ts';

/** Minor versions that a kubelet may be older than its API server (Kubernetes version skew policy). */
const kubeletLag = 3;
/** The same for kubelets older than 1.25. */
const kubeletLagOld = 2;

/** Whether every kubelet can talk to the API servers that the release brings, in signed arithmetic. */
export function kubeletGate({ target, nodes }: GateFacts): Finding[] {
  if (!target.verified) return [];
  if (!nodes.known) return [result('Error', nodes.why)];
  if (target.kubernetesVersion === undefined) {
    return [result('Skipped', `kubelets not compared: ${target.version} names no version of Kubernetes`)];
  }
  const wanted = minorOf(target.kubernetesVersion);
  if (wanted === undefined) {
    return [
      result('Error', `"${target.kubernetesVersion}", the release's version of Kubernetes, cannot be read`),
    ];
  }
  const old: string[] = [];
  const unread: string[] = [];
  for (const node of nodes.value) {
    const kubelet = minorOf(node.kubeletVersion);
    if (kubelet === undefined) unread.push(`${node.name} ("${node.kubeletVersion}")`);
    else if (kubelet < wanted - (kubelet < 25 ? kubeletLagOld : kubeletLag)) {
      old.push(`${node.name} (${node.kubeletVersion})`);
    }
  }
  if (old.length > 0) {
    return [
      {
        ...result('Risk', `kubelets too old for Kubernetes ${target.kubernetesVersion}: ${old.join(', ')}`),
        next: `Bring those nodes to 1.${wanted - kubeletLag} or newer first.`,
      },
    ];
  }
  if (unread.length > 0)
    return [result('Error', `kubelet versions that cannot be read: ${unread.join(', ')}`)];
  return [result('Passed', `all kubelets may stay beside Kubernetes ${target.kubernetesVersion}`)];
}

/** The second number of `v1.33.2+abc`; the first must be 1. */
function minorOf(version: string): number | undefined {
  const match = /^v?1\.(\d{1,4})(?:\.|$|\+|-)/.exec(version);
  return match === null ? undefined : Number(match[1]);
}

function result(outcome: Finding['result'], message: string): Finding {
  return { name: 'KubeletSkew', gate: 'kubelet', severity: 'blocking', result: outcome, message };
}
