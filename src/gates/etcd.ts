import type { GateFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { findingOf, listed } from './outcome.ts';

/** Milliseconds after which a backup is old for somebody who is about to update. */
const freshMs = 24 * 3_600_000;

/** Whether etcd is well and was backed up, where the cluster shows it. */
export function etcdGate({ cluster, now }: GateFacts): Finding[] {
  const health = { name: 'EtcdHealth', gate: 'etcd', severity: 'blocking' } as const;
  const backup = { name: 'EtcdBackup', gate: 'etcd', severity: 'warning' } as const;
  return [
    ...findingOf(health, cluster.etcdTroubles, (troubles) =>
      troubles.length === 0
        ? { well: 'etcd reports that it is well' }
        : {
            message: `etcd is not well: ${listed(troubles)}`,
            next: 'Mend it first: an update needs every member.',
          },
    ),
    ...findingOf(backup, cluster.etcdBackup, ({ name, at }) => {
      const next = 'Make a backup of etcd first.';
      if (at === undefined) return { message: `${name} has never ended well`, next };
      const hours = Math.floor((now - at) / 3_600_000);
      return now - at <= freshMs
        ? { well: `${name} ended ${hours} h ago` }
        : { message: `the last backup of etcd, ${name}, is ${hours} h old`, next };
    }),
  ];
}
