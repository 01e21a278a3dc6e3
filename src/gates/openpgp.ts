import type { GateFacts } from './facts.ts';
import { type Finding, openPGPFinding } from './finding.ts';

/**
 * Whether the release carries the OpenPGP signature that the cluster's own keyrings demand, as the cluster-version
 * operator judges it. Where nothing is demanded there is no finding. Force passes it, an accepted name does not:
 * the operator would refuse the update all the same.
 */
export function openPGPGate({ target, openpgp }: GateFacts): Finding[] {
  if (!target.verified) return [];
  const base = { name: openPGPFinding, gate: 'openpgp', severity: 'blocking' } as const;
  if (!openpgp.known) return [{ ...base, result: 'Error', message: openpgp.why }];
  const word = openpgp.value;
  if (word === undefined) return [];
  if (word.good) return [{ ...base, result: 'Passed', message: word.message }];
  // What could not be read may still be there.
  const result = target.signatures === undefined ? 'Error' : 'Risk';
  const { message, next } = word;
  return [
    {
      ...base,
      result,
      message: `The update cannot be verified: ${message}`,
      ...(next === undefined ? {} : { next }),
    },
  ];
}
