import type { Condition } from '../api/core.ts';
import { findCondition } from './conditions.ts';
import type { ReleaseImageStatus } from './report.ts';

/** Something that people who watch events should learn. */
export interface ReleaseNews {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Conditions whose turning to True is news, and how it is called. */
const turns = [
  ['Mounted', 'Normal', 'ReleaseMounted'],
  ['Installing', 'Normal', 'ReleaseCopying'],
  ['Available', 'Normal', 'ReleaseAvailable'],
  ['Removing', 'Normal', 'ReleaseRemoving'],
] as const;

/** What is new in a status: each turn once, not each word that changed. */
export function newsOf(before: ReleaseImageStatus | undefined, after: ReleaseImageStatus): ReleaseNews[] {
  const news: ReleaseNews[] = [];
  for (const { name, conditions } of after.releases) {
    const old = before?.releases.find((each) => each.name === name)?.conditions;
    for (const [type, kind, reason] of turns) {
      const now = turned(type, old, conditions);
      if (now?.status === 'True') news.push({ type: kind, reason, message: `${name}: ${now.message}` });
    }
    const lost = turned('Available', old, conditions);
    if (lost?.status === 'False' && findCondition(old, 'Available')?.status === 'True') {
      news.push({ type: 'Warning', reason: 'ReleaseNotAvailable', message: `${name}: ${lost.message}` });
    }
    const trouble = findCondition(conditions, 'Degraded');
    // Another reason for being degraded is news as well.
    if (trouble?.status === 'True' && !isSame(trouble, findCondition(old, 'Degraded'))) {
      news.push({ type: 'Warning', reason: trouble.reason, message: `${name}: ${trouble.message}` });
    }
  }
  const gone = before?.releases.filter((each) => !after.releases.some((one) => one.name === each.name)) ?? [];
  for (const { name } of gone) {
    news.push({ type: 'Normal', reason: 'ReleaseGone', message: `${name} is on no node any more` });
  }
  return news;
}

/** The condition, where its status is another than before. */
function turned(
  type: string,
  before: readonly Condition[] | undefined,
  after: readonly Condition[],
): Condition | undefined {
  const now = findCondition(after, type);
  return now?.status === findCondition(before, type)?.status ? undefined : now;
}

function isSame(now: Condition, before: Condition | undefined): boolean {
  return before?.status === now.status && before.reason === now.reason;
}
