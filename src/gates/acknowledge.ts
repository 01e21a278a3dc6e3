import type { GateFacts } from './facts.ts';
import { type Finding, findingName } from './finding.ts';
import { sameMinor, tryVersion } from './version.ts';

/**
 * Admin acknowledgements (facts §5.10): the running release sets gates `ack-<major>.<minor>-<words>`, people answer
 * with the same key and the value `true`. They hold minor and major moves only.
 */
export function acknowledgeGate({ source, target, adminGates, adminAcks }: GateFacts): Finding[] {
  if (!target.verified) return [];
  const from = tryVersion(source.version);
  const to = tryVersion(target.version);
  if (from === undefined || to === undefined || sameMinor(from, to)) {
    return [outcome('AdminAck', 'Passed', 'a patch needs no acknowledgement')];
  }
  if (!adminGates.known) return [outcome('AdminAckUnknown', 'Error', adminGates.why)];
  if (!adminAcks.known) return [outcome('AdminAckUnknown', 'Error', adminAcks.why)];
  const acks = adminAcks.value;
  const findings = Object.entries(adminGates.value).flatMap(([key, words]) => {
    const name = findingName(`AdminAck-${key}`);
    const match = /^ack-(\d+)\.(\d+)-[^-]/.exec(key);
    if (match === null) {
      return [
        outcome(
          name,
          'Risk',
          `the gate ${key} in admin-gates does not name a version, so it cannot be judged`,
        ),
      ];
    }
    if (match[1] !== from.major || match[2] !== from.minor || acks[key] === 'true') return [];
    const why = words.trim() === '' ? `the gate ${key} in admin-gates has no words` : words.trim();
    return [
      {
        ...outcome(name, 'Risk', why),
        next: `Acknowledge it: set the key ${key} to "true" in the ConfigMap admin-acks.`,
      },
    ];
  });
  return findings.length > 0 ? findings : [outcome('AdminAck', 'Passed', 'nothing is left to acknowledge')];
}

function outcome(name: string, result: Finding['result'], message: string): Finding {
  return { name, gate: 'acknowledge', severity: 'blocking', result, message };
}
