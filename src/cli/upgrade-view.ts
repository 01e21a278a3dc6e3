import type { ClusterVersion, UpdatePreflight } from '../api/resources.ts';
import { implicitName } from '../gates/run-request.ts';
import { newestFirst } from '../gates/version.ts';
import type { KnownBundle } from '../release/known.ts';
import { humanDuration } from './output.ts';

/** Condition of ClusterVersion by its type. */
export function conditionOf(version: ClusterVersion, type: string) {
  return version.status?.conditions?.find((condition) => condition.type === type);
}

/** What ClusterVersion says, in lines for a person: where it stands, then all that is not as it should be. */
export function versionLines(version: ClusterVersion, now: number): string[] {
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
  for (const [type, good] of troubles) {
    const condition = conditionOf(version, type);
    if (condition === undefined || condition.status === good) continue;
    lines.push('', `${type}=${condition.status}:`);
    if ((condition.reason ?? '') !== '') lines.push(`  Reason: ${condition.reason}`);
    lines.push(`  Message: ${(condition.message ?? '').replaceAll('\n', '\n    ')}`);
  }
  return lines;
}

/** Conditions that are told whenever they are not as they should be: Unknown too (P-128). */
const troubles = [
  ['Failing', 'False'],
  ['ReleaseAccepted', 'True'],
  ['Invalid', 'False'],
  ['Upgradeable', 'True'],
  ['RetrievedUpdates', 'True'],
] as const;

/** A release that could be gone to, and what speaks against it. */
export interface Recommendation {
  readonly version: string;
  readonly content: string;
  readonly preflight: string;
  readonly issues: string;
  readonly name: string;
}

/**
 * Every release at hand, newest first, with what is known of it: whether it is copied, what its last preflight said,
 * and why it cannot be reached. What was never looked at says so; it is not left out.
 */
export function recommendations(
  version: ClusterVersion,
  bundles: readonly KnownBundle[],
  preflights: readonly UpdatePreflight[],
  controlPlane: number,
): Recommendation[] {
  const current = version.status?.desired.version ?? '';
  const available = new Set(
    (version.status?.availableUpdates ?? []).map(({ image }) => image.slice(image.indexOf('@') + 1)),
  );
  return bundles
    .filter((bundle) => bundle.version !== current)
    .sort((a, b) => newestFirst(a.version, b.version))
    .map((bundle) => {
      const report = preflights.find((each) => each.metadata.name === implicitName(bundle.payload))?.status;
      const looked = report?.verdict === undefined ? 'not run' : report.verdict;
      const reachable = available.has(bundle.payload);
      const issues = [
        ...(reachable ? [] : [`no path from ${current}`]),
        ...(report?.verdict === 'Blocked' || report?.verdict === 'Incomplete' ? [report.message ?? ''] : []),
      ];
      return {
        version: bundle.version,
        content: contentOf(bundle, controlPlane),
        preflight: looked,
        issues: issues.length === 0 ? 'none known' : issues.join('; '),
        name: bundle.name,
      };
    });
}

function contentOf({ heldBy, mountedOn }: KnownBundle, controlPlane: number): string {
  if (controlPlane > 0 && heldBy.length >= controlPlane) return 'on every node';
  const held = heldBy.length > 0 ? `on ${heldBy.length} of ${controlPlane} nodes` : '';
  const mounted = mountedOn.length > 0 ? `on media (${mountedOn.join(', ')})` : '';
  return [held, mounted].filter((part) => part !== '').join(', ');
}
