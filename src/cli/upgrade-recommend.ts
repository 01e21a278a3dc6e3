import type { ClusterVersion, UpdatePreflight } from '../api/resources.ts';
import { rollback } from '../gates/edge.ts';
import { preflightFact } from '../gates/gather.ts';
import { staleness } from '../gates/preflight.ts';
import { implicitName } from '../gates/run-request.ts';
import { compareVersions, newestFirst, sameMinor, tryVersion } from '../gates/version.ts';
import type { KnownBundle } from '../release/known.ts';
import { conditionOf } from './upgrade-view.ts';

/** Something that speaks against an update. Its name is stable: people accept it by that, scripts read it. */
export interface Issue {
  readonly name: string;
  /** Unknown: nobody could find out, which counts as no. */
  readonly status: 'True' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly next?: string;
  readonly accepted: boolean;
}

/** A release at hand and what speaks against going there. */
export interface Recommendation {
  readonly version: string;
  /** Older than what the cluster has: to go there is to go back. */
  readonly isOlder: boolean;
  /** Of the bundle. */
  readonly name: string;
  readonly payload: string;
  readonly content: string;
  /** Whether it must be copied to nodes before. */
  readonly toCopy: boolean;
  readonly preflight: string;
  readonly issues: readonly Issue[];
}

export interface RecommendFacts {
  readonly version: ClusterVersion;
  readonly bundles: readonly KnownBundle[];
  readonly preflights: readonly UpdatePreflight[];
  /** How many control-plane nodes there are. */
  readonly controlPlane: number;
  /** Names that are accepted on the command line. */
  readonly accepted: ReadonlySet<string>;
  readonly now: number;
}

/** What of the cluster's own state speaks against any update, and what was looked at and is well. */
export function clusterConcerns({ version, accepted }: RecommendFacts): {
  readonly well: readonly string[];
  readonly concerns: readonly Issue[];
} {
  const well: string[] = [];
  const concerns: Issue[] = [];
  for (const [type, good, name, words] of looked) {
    const condition = conditionOf(version, type);
    const status = condition?.status ?? 'Unknown';
    const reason = condition?.reason || 'NotReported';
    if (status === good) well.push(words);
    else if (condition !== undefined || type !== 'Invalid') {
      const message = condition?.message || `the cluster does not say how it is with ${type}`;
      const told = status === 'Unknown' ? ('Unknown' as const) : ('True' as const);
      concerns.push({ name, status: told, reason, message, accepted: accepted.has(name) });
    }
  }
  return { well, concerns };
}

/** Type, the status that is well, the name under which anything else is told, and the words where it is well. */
const looked = [
  ['Failing', 'False', 'Failing', 'nothing fails'],
  ['Progressing', 'False', 'Progressing', 'no update is in progress'],
  ['Invalid', 'False', 'Invalid', 'what is asked for is valid'],
  ['RetrievedUpdates', 'True', 'CannotRetrieveUpdates', 'the available updates are known'],
] as const;

/**
 * Every release at hand, newest first, with what is known of it. What was never looked at says so; it is not left
 * out.
 */
export function recommendations(facts: RecommendFacts): Recommendation[] {
  const { version, bundles, controlPlane } = facts;
  const current = version.status?.desired.version ?? '';
  return bundles
    .filter((bundle) => bundle.version !== current)
    .sort((a, b) => newestFirst(a.version, b.version))
    .map((bundle) => {
      const report = facts.preflights.find((each) => each.metadata.name === implicitName(bundle.payload));
      return {
        version: bundle.version,
        isOlder: isOlder(bundle.version, current),
        name: bundle.name,
        payload: bundle.payload,
        content: contentOf(bundle, controlPlane),
        toCopy: bundle.heldBy.length < Math.max(1, controlPlane),
        preflight: report?.status?.verdict ?? 'not run',
        issues: [...pathIssues(facts, bundle), ...preflightIssues(facts, bundle, report)].map((issue) => ({
          ...issue,
          accepted: issue.accepted || facts.accepted.has(issue.name) || isTaken(issue, report),
        })),
      };
    });
}

/** What somebody has accepted for the release, as a request for it would be judged: of what is known alone. */
function isTaken(issue: Issue, report: UpdatePreflight | undefined): boolean {
  return (
    issue.status === 'True' && report?.spec.acceptedRisks?.some(({ name }) => name === issue.name) === true
  );
}

function isOlder(version: string, current: string): boolean {
  const to = tryVersion(version);
  const from = tryVersion(current);
  return from !== undefined && to !== undefined && compareVersions(to, from) < 0;
}

function pathIssues({ version }: RecommendFacts, bundle: KnownBundle): Issue[] {
  const { desired, availableUpdates, conditions = [], history = [] } = version.status ?? {};
  const current = desired?.version ?? '';
  const issues: Issue[] = [];
  const from = tryVersion(current);
  const to = tryVersion(bundle.version);
  if (from !== undefined && to !== undefined && compareVersions(to, from) < 0) {
    const image = desired?.image ?? '';
    const source = { version: current, digest: image.slice(image.indexOf('@') + 1) };
    const target = { version: bundle.version, digest: bundle.payload };
    const entries = history.map((entry) => ({ ...entry, version: entry.version ?? '' }));
    const way = rollback({ source, history: entries }, target, sameMinor(from, to));
    if (way.result !== 'Passed') issues.push(risk(way.name, 'Older', way.message, way.next));
  } else if (!(availableUpdates ?? []).some(({ image }) => image.endsWith(`@${bundle.payload}`))) {
    const message = `no path from ${current}: ${bundle.version} does not name it among the releases before it`;
    issues.push(risk('UpdatePath', 'NoPath', message, `Go through a release that names ${current}.`));
  }
  const upgradeable = conditions.find((each) => each.type === 'Upgradeable');
  // It forbids the next minor version, and says nothing about patches.
  const isPatch = from !== undefined && to !== undefined && sameMinor(from, to);
  if (upgradeable?.status === 'False' && !isPatch) {
    issues.push(risk('Upgradeable', upgradeable.reason || 'Forbidden', upgradeable.message ?? ''));
  }
  return issues;
}

function preflightIssues(
  { version, now }: RecommendFacts,
  bundle: KnownBundle,
  report: UpdatePreflight | undefined,
): Issue[] {
  const run = `sluice preflight run --to ${bundle.version}`;
  const unknown = (name: string, reason: string, message: string): Issue[] => [
    { name, status: 'Unknown', reason, message, next: run, accepted: false },
  ];
  const fact = report === undefined ? undefined : preflightFact(report);
  if (report === undefined || fact === undefined) {
    return unknown('PreflightNotRun', 'NoReport', `the checks of ${bundle.version} were never run here`);
  }
  if (fact.verdict === 'Running') return unknown('PreflightRunning', fact.reason, fact.message);
  const desired = version.status?.desired.image ?? '';
  const source = { digest: desired.slice(desired.indexOf('@') + 1) };
  const { checkSet } = fact;
  const target = {
    verified: true as const,
    digest: bundle.payload,
    ...(checkSet === undefined ? {} : { checkSet }),
  };
  const stale = staleness({ now, source, target }, fact);
  if (stale !== undefined) return unknown('PreflightStale', fact.verdict, stale);
  const rows = report.status?.checks ?? [];
  return rows.flatMap((row): Issue[] => {
    if (row.result !== 'Risk' && row.result !== 'Error') return [];
    if ((row.severity ?? 'blocking') !== 'blocking') return [];
    const reason = row.reason ?? row.result;
    const words =
      row.component === undefined ? (row.message ?? '') : `${row.component}: ${row.message ?? ''}`;
    return [
      {
        name: row.name,
        status: row.result === 'Risk' ? 'True' : 'Unknown',
        reason,
        message: words,
        ...(row.next === undefined ? {} : { next: row.next }),
        accepted: row.accepted === true,
      },
    ];
  });
}

function risk(name: string, reason: string, message: string, next?: string): Issue {
  return { name, status: 'True', reason, message, accepted: false, ...(next === undefined ? {} : { next }) };
}

/**
 * The exit code that issues lead to: 0 where none is open, 3 where one is known, 5 where some could only not be found
 * out.
 */
export function exitOf(issues: readonly Issue[]): 0 | 3 | 5 {
  const open = issues.filter((issue) => !issue.accepted);
  if (open.length === 0) return 0;
  return open.some((issue) => issue.status === 'True') ? 3 : 5;
}

function contentOf({ heldBy, mountedOn }: KnownBundle, controlPlane: number): string {
  if (controlPlane > 0 && heldBy.length >= controlPlane) return 'on every node';
  const held = heldBy.length > 0 ? `on ${heldBy.length} of ${controlPlane} nodes` : '';
  const mounted = mountedOn.length > 0 ? `on media (${mountedOn.join(', ')})` : '';
  return [held, mounted].filter((part) => part !== '').join(', ');
}
