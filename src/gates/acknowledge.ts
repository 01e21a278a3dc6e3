import type { GateFacts } from './facts.ts';
import { type Finding, findingName } from './finding.ts';
import { sameMinor, tryVersion, type Version } from './version.ts';

/** A gate that nobody has answered, and its words. */
export interface OpenAck {
  readonly key: string;
  readonly message: string;
  /** Whether its key names a version: others cannot be acknowledged at all. */
  readonly answerable: boolean;
}

/**
 * Admin gates that hold the current version: keys `ack-<major>.<minor>-<words>` of its own minor version that have no
 * answer `true`, and keys that cannot be judged.
 */
export function openAcks(
  current: Pick<Version, 'major' | 'minor'>,
  gates: Readonly<Record<string, string>>,
  acks: Readonly<Record<string, string>>,
): OpenAck[] {
  return Object.entries(gates).flatMap(([key, words]): OpenAck[] => {
    const match = /^ack-(\d+)\.(\d+)-[^-]/.exec(key);
    if (match === null) {
      const message = `the gate ${key} in admin-gates does not name a version, so it cannot be judged`;
      return [{ key, message, answerable: false }];
    }
    const message = words.trim();
    if (match[1] !== current.major || match[2] !== current.minor) return [];
    // A gate without words cannot be understood, so an answer to it means nothing.
    if (message === '')
      return [{ key, message: `the gate ${key} in admin-gates has no words`, answerable: false }];
    return acks[key] === 'true' ? [] : [{ key, message, answerable: true }];
  });
}

/**
 * Admin acknowledgements: the running release sets gates, people answer with the same key and the value `true`. They
 * hold minor and major moves only.
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
  const findings = openAcks(from, adminGates.value, adminAcks.value).map(({ key, message, answerable }) => ({
    ...outcome(findingName(`AdminAck-${key}`), 'Risk', message),
    ...(answerable
      ? { next: `Acknowledge it: set the key ${key} to "true" in the ConfigMap admin-acks.` }
      : { next: `Correct the key ${key} in the ConfigMap admin-gates.` }),
  }));
  return findings.length > 0 ? findings : [outcome('AdminAck', 'Passed', 'nothing is left to acknowledge')];
}

function outcome(name: string, result: Finding['result'], message: string): Finding {
  return { name, gate: 'acknowledge', severity: 'blocking', result, message };
}
