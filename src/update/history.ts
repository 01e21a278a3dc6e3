import type { ClusterVersionStatusHistory } from '../api/resources.ts';
import { digestPart } from '../gates/gather.ts';
import { sameMinor, tryVersion } from '../gates/version.ts';

export type HistoryEntry = ClusterVersionStatusHistory;

/** What is known of the release that is being applied. */
export interface HistoryNote {
  readonly version: string;
  readonly image: string;
  readonly verified: boolean;
  /** What was forced or accepted to let it through; absent leaves what stands there. */
  readonly acceptedRisks?: string;
  readonly completed: boolean;
}

/** Entries of a history, before it is thinned. */
export const historyMax = 100;

/**
 * The history with this note in it: merged into the newest entry where that is the same release, else as a new
 * entry, which ends the one before.
 *
 * @param now RFC 3339.
 */
export function noteHistory(
  history: readonly HistoryEntry[],
  note: HistoryNote,
  now: string,
): HistoryEntry[] {
  const [latest, ...older] = history;
  if (latest !== undefined && isSameRelease(latest, note)) return [merged(latest, note, now), ...older];
  const before = history.map((entry, index) =>
    // A time that was written stays: only the entry that was still open ends now.
    index === 0 && entry.completionTime === null ? { ...entry, completionTime: now } : entry,
  );
  const entry: HistoryEntry = {
    state: note.completed ? 'Completed' : 'Partial',
    startedTime: now,
    completionTime: note.completed ? now : null,
    version: note.version,
    image: note.image,
    verified: note.verified,
    ...(note.acceptedRisks === undefined ? {} : { acceptedRisks: note.acceptedRisks }),
  };
  return thinned([entry, ...before]);
}

function merged(entry: HistoryEntry, note: HistoryNote, now: string): HistoryEntry {
  const completes = note.completed && entry.state !== 'Completed';
  return {
    ...entry,
    version: entry.version === undefined || entry.version === '' ? note.version : entry.version,
    image: entry.image === '' ? note.image : entry.image,
    ...(note.verified ? { verified: true } : {}),
    ...(note.acceptedRisks === undefined ? {} : { acceptedRisks: note.acceptedRisks }),
    ...(completes ? { state: 'Completed', completionTime: now } : {}),
  };
}

/** By digest where both have one: a mirror's name is no other release. */
function isSameRelease(entry: HistoryEntry, note: HistoryNote): boolean {
  const version = entry.version ?? '';
  const versionsAgree = version === note.version || version === '' || note.version === '';
  const a = digestPart(entry.image);
  const b = digestPart(note.image);
  const imagesAgree = entry.image === note.image || (a !== '' && a === b);
  if (imagesAgree) return versionsAgree;
  return version !== '' && version === note.version && (entry.image === '' || note.image === '');
}

/**
 * Takes out one entry at a time where there are too many: never the newest five, the first ever, or the newest
 * that was completed; releases that opened or closed a minor version outlive patches that failed.
 */
function thinned(history: HistoryEntry[]): HistoryEntry[] {
  let kept = history;
  while (kept.length > historyMax) {
    const ranks = kept.map((_, index) => rank(kept, index));
    const victim = ranks.lastIndexOf(Math.min(...ranks));
    kept = kept.filter((_, index) => index !== victim);
  }
  return kept;
}

function rank(history: readonly HistoryEntry[], index: number): number {
  const entry = history[index];
  const newestCompleted = history.findIndex((each) => each.state === 'Completed');
  if (entry === undefined || index < 5 || index === history.length - 1 || index === newestCompleted) {
    return Number.POSITIVE_INFINITY;
  }
  // A little for being recent, so that of equals the oldest goes.
  const recent = (history.length - index) / history.length;
  const newer = history[index - 1];
  const older = history[index + 1];
  if (entry.state === 'Completed')
    return (isEdgeOfMinor(entry, newer) || isEdgeOfMinor(entry, older) ? 30 : 0) + recent;
  return (newer !== undefined && older !== undefined && isEdgeOfMinor(newer, older) ? 20 : -20) + recent;
}

function isEdgeOfMinor(a: HistoryEntry, b: HistoryEntry | undefined): boolean {
  const left = tryVersion(a.version ?? '');
  const right = tryVersion(b?.version ?? '');
  return left !== undefined && right !== undefined && !sameMinor(left, right);
}
