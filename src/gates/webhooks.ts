import { counted } from '../observe/count.ts';
import type { GateFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { findingOf, listed } from './outcome.ts';

/** Whether a webhook that nobody answers would refuse what the update must change. */
export function webhooksGate({ cluster }: GateFacts): Finding[] {
  const gate = { name: 'DeadWebhooks', gate: 'webhooks', severity: 'warning' } as const;
  return findingOf(gate, cluster.webhooks, (webhooks) => {
    const dead = webhooks.filter((webhook) => webhook.fails && webhook.dead !== undefined);
    if (dead.length === 0)
      return { well: `${counted(webhooks.length, 'webhook')}, and none refuses for want of an answer` };
    const words = dead.map((each) => `${each.configuration} (${each.service}: ${each.dead})`);
    return {
      ...(dead.some((webhook) => webhook.vital) ? { severity: 'blocking' as const } : {}),
      message: `webhooks that nobody answers, and that refuse then: ${listed(words)}`,
      next: 'Bring their services back, or remove their configurations.',
      objects: [...new Set(dead.map((each) => `webhookconfiguration/${each.configuration}`))],
    };
  });
}
