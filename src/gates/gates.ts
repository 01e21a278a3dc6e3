import { acknowledgeGate } from './acknowledge.ts';
import { contentGate } from './content.ts';
import { edgeGate } from './edge.ts';
import type { GateFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { kubeletGate } from './kubelet.ts';
import { nodesGate } from './nodes.ts';
import { operatorsGate } from './operators.ts';
import { preflightGate } from './preflight.ts';
import { signatureGate } from './signature.ts';

export type Gate = (facts: GateFacts) => Finding[];

/** Every gate, in the order in which they are shown: cheap ones first. */
export const gates: Readonly<Record<string, Gate>> = {
  signature: signatureGate,
  edge: edgeGate,
  content: contentGate,
  operators: operatorsGate,
  kubelet: kubeletGate,
  acknowledge: acknowledgeGate,
  nodes: nodesGate,
  preflight: preflightGate,
};

/** Evaluates all of them, always: whoever mends one thing wants to know the rest too. */
export function evaluateGates(facts: GateFacts): Finding[] {
  return Object.values(gates).flatMap((gate) => gate(facts));
}
