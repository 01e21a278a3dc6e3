import type { OperatorCondition } from '../api/core.ts';
import type { ClusterVersion } from '../api/resources.ts';
import { findCondition } from '../kube/conditions.ts';
import { humanDuration } from './output.ts';
import { refusalLines, standingRefusal } from './upgrade-refusal.ts';

/** Condition of ClusterVersion by its type. */
export function conditionOf(version: ClusterVersion, type: string) {
  return findCondition(version.status?.conditions, type);
}

/** Whether the conditions tell of the request that stands in spec now, not of the one before it. */
export function isJudged({ metadata, status }: ClusterVersion): boolean {
  return (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
}

/** The request that has not become the update: what the cluster has, or goes to, is pending no more. */
export function pendingWish({ spec, status }: ClusterVersion) {
  const wish = spec.desiredUpdate;
  const has = status?.desired;
  if (wish === undefined || has === undefined) return wish;
  const isThere =
    wish.image === undefined
      ? wish.version !== undefined && wish.version === has.version
      : digestOf(wish.image) === digestOf(has.image);
  return isThere ? undefined : wish;
}

const digestOf = (image: string) => image.slice(image.lastIndexOf('@') + 1);

/** Conditions that tell of the request. */
const ofRequest: readonly string[] = ['ReleaseAccepted', 'Invalid'];

/**
 * What ClusterVersion says, in lines for a person: where it stands and whether that is well, then all that is not as
 * it should be.
 *
 * @param columns of the terminal; undefined where the output is no terminal.
 */
export function versionLines(version: ClusterVersion, now: number, columns?: number): string[] {
  const lines: string[] = [];
  const progressing = conditionOf(version, 'Progressing');
  const [latest] = version.status?.history ?? [];
  if (progressing?.status === 'True') {
    lines.push('An update is in progress.');
  } else {
    lines.push(progressing?.message || 'The version of the cluster is not known yet.');
    if (latest?.completionTime) {
      lines.push(`Completed ${humanDuration(now - Date.parse(latest.completionTime))} ago.`);
    }
  }
  if (latest?.acceptedRisks !== undefined) lines.push(`Let through in spite of: ${latest.acceptedRisks}`);
  const troubles = troublesOf(version);
  const standing = restWords(version, troubles);
  if (standing !== undefined) lines.push(standing);
  for (const condition of troubles) {
    const { type } = condition;
    lines.push('', `${type}=${condition.status}:`);
    if ((condition.reason ?? '') !== '') lines.push(`  Reason: ${condition.reason}`);
    const refusal = type === 'ReleaseAccepted' ? standingRefusal(version) : undefined;
    if (refusal !== undefined) {
      const told = refusalLines(refusal.to, refusal.message, columns).join('\n').split('\n');
      lines.push(...told.map((line) => `  ${line}`.trimEnd()));
      continue;
    }
    lines.push(`  Message: ${(condition.message ?? '').replaceAll('\n', '\n    ')}`);
    if (type === 'Invalid') lines.push('  Next: ask for another, or take it back: sluice upgrade clear');
  }
  return lines;
}

/** Conditions that are told whenever they are not as they should be: Unknown too. */
const good = [
  ['Failing', 'False'],
  ['ReleaseAccepted', 'True'],
  ['Invalid', 'False'],
  ['Upgradeable', 'True'],
  ['RetrievedUpdates', 'True'],
] as const;

function troublesOf(version: ClusterVersion): OperatorCondition[] {
  return good.flatMap(([type, status]) => {
    const condition = conditionOf(version, type);
    // What was said of an earlier request is no news of this one.
    const isOld = ofRequest.includes(type) && !isJudged(version);
    return condition === undefined || condition.status === status || isOld ? [] : [condition];
  });
}

/** That nothing is wrong with a cluster at rest; undefined where something is, or nobody says how it is. */
function restWords(version: ClusterVersion, troubles: readonly OperatorCondition[]): string | undefined {
  const isAtRest = conditionOf(version, 'Progressing')?.status === 'False';
  if (!isAtRest || conditionOf(version, 'Failing')?.status !== 'False') return undefined;
  const well = 'Nothing fails, and no update is in progress.';
  if (troubles.length === 0) return well;
  return troubles.every(({ type }) => type === 'Upgradeable')
    ? `${well} What follows forbids only an update to another minor version.`
    : undefined;
}
