import type { GateFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { findingOf, listed } from './outcome.ts';

/** Milliseconds that a request may wait before somebody should look. */
const waitingMs = 10 * 60_000;

/** More names than these are no command: a report would cut it in the midst of one, and nobody knows them all. */
const namesMax = 8;

/** Whether nodes wait for their certificates: such a node does not come back from its reboot. */
export function signingRequestsGate({ cluster, now }: GateFacts): Finding[] {
  const gate = { name: 'PendingSigningRequests', gate: 'signing-requests', severity: 'warning' } as const;
  return findingOf(gate, cluster.signingRequests, (requests) => {
    const old = requests.filter((request) => request.pending && now - request.createdAt >= waitingMs);
    if (old.length === 0) return { well: 'no certificate request waits' };
    return {
      message: `certificate requests that nobody has answered: ${listed(old.map(({ name, signer }) => `${name} (${signer})`))}`,
      next: `Approve those that you know: kubectl certificate approve ${old.length > namesMax ? 'NAME … (all of them: kubectl get csr)' : old.map(({ name }) => name).join(' ')}.`,
      objects: old.map(({ name }) => `certificatesigningrequest/${name}`),
    };
  });
}
