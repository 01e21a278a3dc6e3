import { apiVersionOf } from '../api/kinds.ts';
import type { PolicyFacts } from '../api/resources.ts';
import { type ApplyOutcome, applyObject } from './apply.ts';
import type { KubeClient } from './client.ts';

/** Says what an admission policy of ours judges by; written only where it changed, and in place. Errors: the client's. */
export async function writePolicyFacts(
  client: KubeClient,
  name: string,
  data: Readonly<Record<string, string>>,
): Promise<ApplyOutcome> {
  const { PolicyFacts: kind } = client.kinds;
  const facts: PolicyFacts = {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { name },
    data: { ...data },
  };
  return (await applyObject(client, facts)).outcome;
}
