import { acknowledgeGate } from './acknowledge.ts';
import { certificatesGate } from './certificates.ts';
import { clocksGate } from './clocks.ts';
import { contentGate } from './content.ts';
import { disruptionGate } from './disruption.ts';
import { edgeGate } from './edge.ts';
import { etcdGate } from './etcd.ts';
import type { GateFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { kubeletGate } from './kubelet.ts';
import { nodesGate } from './nodes.ts';
import { olmGate } from './olm.ts';
import { openPGPGate } from './openpgp.ts';
import { operatorsGate } from './operators.ts';
import { poolsGate } from './pools.ts';
import { preflightGate } from './preflight.ts';
import { removedGate } from './removed.ts';
import { signatureGate } from './signature.ts';
import { signingRequestsGate } from './signing-requests.ts';
import { spaceGate } from './space.ts';
import { webhooksGate } from './webhooks.ts';

export type Gate = (facts: GateFacts) => Finding[];

/** Every gate, in the order in which they are shown: cheap ones first. */
export const gates: Readonly<Record<string, Gate>> = {
  signature: signatureGate,
  openpgp: openPGPGate,
  edge: edgeGate,
  content: contentGate,
  space: spaceGate,
  operators: operatorsGate,
  kubelet: kubeletGate,
  acknowledge: acknowledgeGate,
  nodes: nodesGate,
  pools: poolsGate,
  disruption: disruptionGate,
  removed: removedGate,
  olm: olmGate,
  certificates: certificatesGate,
  clocks: clocksGate,
  signingRequests: signingRequestsGate,
  webhooks: webhooksGate,
  etcd: etcdGate,
  preflight: preflightGate,
};

/** Evaluates all of them, always: whoever mends one thing wants to know the rest too. */
export function evaluateGates(facts: GateFacts): Finding[] {
  return Object.values(gates).flatMap((gate) => gate(facts));
}
