import { counted } from '../observe/count.ts';
import type { CertificateFact } from './cluster-facts.ts';
import type { GateFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { findingOf, listed } from './outcome.ts';

const dayMs = 86_400_000;
/** Milliseconds of life below which a certificate is told. */
const nearMs = 30 * dayMs;
/** Milliseconds of life below which what serves the update itself is in danger while it runs. */
const vitalMs = 2 * dayMs;

/** Whether certificates live long enough. Only those that the update is served with hold it. */
export function certificatesGate({ cluster, now }: GateFacts): Finding[] {
  const gate = { name: 'CertificatesNearExpiry', gate: 'certificates', severity: 'warning' } as const;
  return findingOf(gate, cluster.certificates, (certificates) => {
    const near = certificates
      .filter((each) => each.notAfter === undefined || each.notAfter - now < nearMs)
      .sort((a, b) => (a.notAfter ?? 0) - (b.notAfter ?? 0));
    if (near.length === 0)
      return { well: `${counted(certificates.length, 'certificate')}, and none ends within 30 days` };
    const holds = near.some((each) => each.vital && (each.notAfter ?? 0) - now < vitalMs);
    return {
      ...(holds ? { severity: 'blocking' as const } : {}),
      message: `certificates near their end: ${listed(near.map((each) => words(each, now)))}`,
      next: 'Renew them first.',
      objects: near.map(({ namespace, name }) => `secret/${namespace}/${name}`),
    };
  });
}

function words({ namespace, name, notAfter }: CertificateFact, now: number): string {
  if (notAfter === undefined) return `${namespace}/${name} (cannot be read)`;
  const days = Math.floor((notAfter - now) / dayMs);
  return `${namespace}/${name} (${days < 0 ? 'expired' : `${counted(days, 'day')} left`})`;
}
