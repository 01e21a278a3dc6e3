import type { UpdatePreflight } from '../api/resources.ts';
import type { Digest } from '../oci/digest.ts';
import { isDigest } from '../oci/digest.ts';
import { preflightFact } from './gather.ts';
import { coverageCheck, staleness } from './preflight.ts';

/**
 * Digests of the payloads that the cluster may go to by the word of their preflights, sorted: what an admission
 * policy is given as its parameter. A report counts only while the update itself would believe it: it passed, for
 * this source, for the spec as it stands, with every check of the release read, and it is not too old.
 *
 * @param now milliseconds since the epoch; the answer holds until `passedUntil` at most.
 * @param source digest of the payload that the cluster runs; a report about another source is no evidence.
 */
export function passedDigests(
  reports: readonly UpdatePreflight[],
  { now, source }: { readonly now: number; readonly source: string },
): Digest[] {
  const passed = reports.flatMap((report) => passedDigest(report, now, source) ?? []);
  return [...new Set(passed)].sort();
}

/**
 * When the answer of `passedDigests` changes by time alone, in milliseconds since the epoch; undefined where it does
 * not. Whoever publishes it looks again then.
 */
export function passedUntil(
  reports: readonly UpdatePreflight[],
  { now, source }: { readonly now: number; readonly source: string },
): number | undefined {
  const ends = reports.flatMap((report) => {
    if (passedDigest(report, now, source) === undefined) return [];
    const { finishedAt = now, maxAgeMs = 0 } = preflightFact(report) ?? {};
    return [finishedAt + maxAgeMs + 1];
  });
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function passedDigest(report: UpdatePreflight, now: number, source: string): Digest | undefined {
  const { metadata, status } = report;
  // What was accepted when it was judged may have been taken back since.
  if (metadata.deletionTimestamp !== undefined || status?.observedGeneration !== metadata.generation) {
    return undefined;
  }
  const fact = preflightFact(report);
  if (fact?.verdict !== 'Passed' || fact.finishedAt === undefined || source === '') return undefined;
  if (fact.checks.find((check) => check.name === coverageCheck)?.result !== 'Passed') return undefined;
  const { targetDigest: digest, checkSet } = fact;
  if (!isDigest(digest) || checkSet === undefined) return undefined;
  const facts = { now, source: { digest: source }, target: { verified: true as const, digest, checkSet } };
  return staleness(facts, fact) === undefined ? digest : undefined;
}
