import { type Finding, isIntegrity, type Judgement } from '../gates/finding.ts';
import type { RequestView } from './conditions.ts';

/** The condition that a judgement leads to: every finding that stands against the release, with what to do. */
export function refusalOf(
  judged: Judgement,
  release: { version: string; image: string },
): Extract<RequestView, { state: 'refused' }> {
  const { blocking } = judged;
  const waiting = blocking.every((finding) => finding.result === 'Running');
  const pending = blocking.some((finding) => finding.result === 'Running');
  const integrity = blocking.some((finding) => isIntegrity(finding) && finding.name === 'ReleaseSignature');
  const of = `version="${release.version}" image="${release.image}"`;
  const what = waiting
    ? `Looking at ${of}: `
    : integrity
      ? `Retrieving payload failed ${of}: `
      : `Preconditions failed for payload loaded ${of}: `;
  return {
    state: 'refused',
    waiting,
    pending,
    reason: integrity ? 'RetrievePayload' : 'PreconditionChecks',
    message: what + preconditionText(blocking),
  };
}

/** As the cluster-version operator writes it: one sentence, or a list (facts §5.2). */
function preconditionText(findings: readonly Finding[]): string {
  const [only] = findings;
  if (findings.length === 1 && only !== undefined) return sentence(only);
  return `Multiple precondition checks failed:\n${findings.map((finding) => `* ${sentence(finding)}`).join('\n')}`;
}

function sentence(finding: Finding): string {
  const next = finding.next === undefined ? '' : ` ${finding.next}`;
  if (finding.result === 'Running') return `${finding.name}: ${finding.message}`;
  return `Precondition "${finding.name}" failed because of "${finding.gate}": ${finding.message}.${next}`.replace(
    '..',
    '.',
  );
}

/** What the history says about an update that went through findings; undefined where nothing stood against it. */
export function acceptedRisksText(judged: Judgement): string | undefined {
  const parts: string[] = [];
  if (judged.accepted.length > 0) {
    parts.push(
      `exposed to the risks [${names(judged.accepted)}], which were explicitly accepted: ${words(judged.accepted)}`,
    );
  }
  // Only what really blocked was forced through (P-62).
  if (judged.forced.length > 0) parts.push(`Forced through blocking failures: ${words(judged.forced)}`);
  return parts.length === 0 ? undefined : parts.join('\n').slice(0, acceptedRisksCharsMax);
}

const acceptedRisksCharsMax = 16 * 1024;

function names(findings: readonly Finding[]): string {
  return [...new Set(findings.map((finding) => finding.name))].sort().join(',');
}

function words(findings: readonly Finding[]): string {
  return findings.map((finding) => `${finding.name}: ${finding.message}`).join('; ');
}
