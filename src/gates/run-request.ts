/**
 * Annotations on an UpdatePreflight by which others ask something of its runs. Both name a run id, so that asking
 * twice is asking once, and an answer can be told from the answer to somebody else.
 */
export const runAnnotations = {
  /** "Let there be a run with this id." */
  request: 'sluice.dev/preflight-request',
  /** "If this is the run in flight, give it up." */
  cancel: 'sluice.dev/preflight-cancel',
} as const;

/** On the UpdatePreflight that an update asked for. */
export const implicitLabel = 'sluice.dev/implicit-preflight';

const runIDCharsMax = 16;

/** Whether the text may stand as a run id in labels and names of Jobs. */
export function isRunID(text: string): boolean {
  return text.length <= runIDCharsMax && /^[a-z0-9]{4,}$/.test(text);
}

/** A run id from random bytes; five of them are enough to tell apart all runs that a cluster ever has at once. */
export function runIDOf(random: Uint8Array): string {
  return Buffer.from(random).toString('hex').slice(0, runIDCharsMax);
}

/** Random bytes that a run id is made of. */
export const runIDBytes = 5;

/** The name of the UpdatePreflight that updates and commands share for a payload. */
export function implicitName(digest: string): string {
  return `update-${digest.slice(digest.indexOf(':') + 1).slice(0, 12)}`;
}
