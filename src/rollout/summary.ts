import { listed } from '../gates/outcome.ts';
import { counted } from '../observe/count.ts';
import type { RolloutWait, WaitCause } from './plan.ts';

/** Names that a summary spells out; of more it says how many. */
const namesShown = 5;

/**
 * What a rollout waits for, one line for each cause, since a cluster has many nodes and few reasons:
 * `3 nodes that are held: marker_file (master-0, master-1, master-2)`.
 */
export function rolloutSummary(waiting: readonly RolloutWait[]): string[] {
  const byCause = new Map<WaitCause, RolloutWait[]>();
  for (const wait of waiting) byCause.set(wait.cause, [...(byCause.get(wait.cause) ?? []), wait]);
  return [...byCause].map(([cause, waits]) => line(cause, waits));
}

function line(cause: WaitCause, waits: readonly RolloutWait[]): string {
  const [first] = waits;
  const count = waits.length;
  const one = count === 1;
  const nodes = counted(count, 'node');
  const names = named(waits);
  switch (cause) {
    case 'Held':
      return `${nodes} that ${one ? 'is' : 'are'} held: ${byGate(waits)}`;
    case 'Staging':
      return `${nodes} to stage the new OS image (${names})`;
    case 'Rebooting':
      return `${nodes} to reboot into it (${names})`;
    case 'NotReady':
      return `${nodes} that ${one ? 'runs' : 'run'} it to become ready (${names})`;
    case 'NoAgent':
      return `${nodes} without an agent (${names})`;
    case 'Failed':
      return `${nodes} that failed: ${listed(
        waits.map((wait) => `${wait.node} (${wait.message})`),
        namesShown,
      )}`;
    case 'ControlPlaneFirst':
      return `${nodes} until the control plane is done (${names})`;
    case 'CanariesFirst':
      return `${nodes} until the canaries are done (${names})`;
    case 'Turn':
      return `${nodes} whose turn comes later (${names})`;
    case 'Quorum':
      return `${nodes} that etcd cannot do without now (${names}): ${first?.message ?? ''}`;
    case 'Paused':
      return `${nodes} of a paused pool (${names})`;
    case 'Stopped':
      return `${nodes} not begun (${names}): ${first?.message ?? ''}`;
  }
}

function byGate(waits: readonly RolloutWait[]): string {
  const gates = new Map<string, RolloutWait[]>();
  for (const wait of waits) {
    const gate = wait.gate ?? 'an unknown gate';
    gates.set(gate, [...(gates.get(gate) ?? []), wait]);
  }
  return [...gates].map(([gate, held]) => `${gate} (${named(held)})`).join(', ');
}

function named(waits: readonly RolloutWait[]): string {
  return listed(
    waits.map((wait) => wait.node),
    namesShown,
  );
}
