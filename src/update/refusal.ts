import { type Finding, type Judgement, openPGPFinding } from '../gates/finding.ts';
import type { RequestView } from './conditions.ts';

/** The condition that a judgement leads to: every finding that stands against the release, with what to do. */
export function refusalOf(
  judged: Judgement,
  release: { version: string; image: string },
): Extract<RequestView, { state: 'refused' }> {
  const { blocking } = judged;
  const waiting = blocking.every((finding) => finding.result === 'Running');
  const pending = blocking.some((finding) => finding.result === 'Running');
  const unverified = blocking.some(isUnverified);
  const of = `version="${release.version}" image="${release.image}"`;
  const what = waiting
    ? `Looking at ${of}: `
    : unverified
      ? `Retrieving payload failed ${of}: `
      : `Preconditions failed for payload loaded ${of}: `;
  return {
    state: 'refused',
    waiting,
    pending,
    reason: unverified ? 'RetrievePayload' : 'PreconditionChecks',
    message: what + preconditionText(blocking),
  };
}

/** A release whose maker is not known is not looked into any further, as the cluster-version operator has it. */
export function isUnverified({ name, component }: Finding): boolean {
  return component === undefined && (name === 'ReleaseSignature' || name === openPGPFinding);
}

/** As the cluster-version operator writes it: one sentence, or a list. What to do stands on a line of its own. */
function preconditionText(findings: readonly Finding[]): string {
  const [only] = findings;
  if (findings.length === 1 && only !== undefined) return sentence(only);
  return `${severalHead}${findings.map((finding) => `\n* ${sentence(finding)}`).join('')}`;
}

const severalHead = 'Multiple precondition checks failed:';

function sentence({ name, gate, result, message, next }: Finding): string {
  const words = oneLine(message);
  if (result === 'Running') return `${name}: ${words}`;
  const todo = next === undefined ? '' : `\n  Next: ${oneLine(next)}`;
  return `Precondition "${name}" failed because of "${gate}": ${words}${todo}`;
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').trim();
}

/** One finding of a refusal, as it can be read back. */
export interface RefusedBy {
  readonly name: string;
  /** The gate that it is of; absent while it is not known yet. */
  readonly gate?: string;
  readonly message: string;
  readonly next?: string;
}

/**
 * The findings that a message of `refusalOf` tells, for those who show them; undefined where it is another message.
 * Nothing is decided by it.
 */
export function readRefusal(message: string): RefusedBy[] | undefined {
  const head = /^[A-Z][a-z ]+ version="[^"]*" image="[^"]*": /.exec(message)?.[0];
  if (head === undefined) return undefined;
  const rest = message.slice(head.length);
  const items = rest.startsWith(`${severalHead}\n* `)
    ? rest.slice(severalHead.length + 3).split('\n* ')
    : [rest];
  const found = items.map(readSentence);
  return found.every((each) => each !== undefined) ? (found as RefusedBy[]) : undefined;
}

function readSentence(text: string): RefusedBy | undefined {
  const failed =
    /^Precondition "([^"]+)" failed because of "([^"]+)": ([^\n]*)(?:\n {2}Next: ([^\n]*))?$/.exec(text);
  if (failed !== null) {
    const [, name = '', gate = '', message = '', next] = failed;
    return { name, gate, message, ...(next === undefined ? {} : { next }) };
  }
  const running = /^([A-Z][A-Za-z0-9.-]*): ([^\n]*)$/.exec(text);
  return running === null ? undefined : { name: running[1] ?? '', message: running[2] ?? '' };
}

/** What the history says about an update that went through findings; undefined where nothing stood against it. */
export function acceptedRisksText(judged: Judgement): string | undefined {
  const parts: string[] = [];
  if (judged.accepted.length > 0) {
    parts.push(
      `exposed to the risks [${names(judged.accepted)}], which were explicitly accepted: ${words(judged.accepted)}`,
    );
  }
  // Only what really blocked was forced through.
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
