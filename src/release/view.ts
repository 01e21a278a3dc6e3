import type { AggregationInput, ReleaseReport, ReleaseStatus } from './report.ts';

/** One release across the nodes. */
export interface ReleaseView {
  readonly name: string;
  readonly wanted: boolean;
  readonly previous: ReleaseStatus | undefined;
  readonly reports: ReadonlyMap<string, ReleaseReport>;
  readonly held: readonly string[];
  readonly lacking: readonly string[];
  readonly unknown: readonly string[];
  readonly mounted: readonly string[];
  readonly copying: readonly string[];
  readonly removing: readonly string[];
  /** Nodes disagree about what the name means. */
  readonly conflict: boolean;
  readonly problems: readonly { node: string; reason: string; message: string }[];
}

export function viewOf(name: string, input: AggregationInput): ReleaseView {
  const reports = new Map<string, ReleaseReport>();
  for (const node of input.nodes) {
    const report = node.releases.find((each) => each.name === name);
    if (report !== undefined) reports.set(node.name, report);
  }
  const nodesWhere = (test: (report: ReleaseReport | undefined) => boolean) =>
    input.nodes.filter((node) => test(reports.get(node.name))).map((node) => node.name);
  const bundles = new Set([...reports.values()].flatMap((report) => report.bundle ?? []));
  return {
    name,
    wanted: input.spec.includes(name) && input.deleting !== true,
    previous: input.previous?.releases.find((release) => release.name === name),
    reports,
    held: nodesWhere((report) => report?.held === true),
    lacking: nodesWhere((report) => report === undefined || report.held === false),
    unknown: nodesWhere((report) => report !== undefined && report.held === undefined),
    mounted: nodesWhere((report) => report?.mounted === true),
    copying: nodesWhere((report) => report?.copy !== undefined),
    removing: nodesWhere((report) => report?.removing === true),
    conflict: bundles.size > 1,
    problems: [...reports].flatMap(([node, report]) =>
      report.problem === undefined ? [] : [{ node, ...report.problem }],
    ),
  };
}

/** Reasons that speak of the way to the content, not of the content. */
const waysThatFail = ['MediaLost', 'Unreachable', 'Stalled', 'Timeout'];

/** Reasons that refuse media. They say nothing against the release where other media carry it, verified. */
const refusals = ['SignatureMissing', 'SignatureUntrusted'];

/** What is wrong with the release itself, with the nodes that say so. */
export function releaseTrouble(release: ReleaseView): { reason: string; message: string } | undefined {
  if (release.conflict) {
    const of = [...release.reports].flatMap(([node, report]) =>
      report.bundle === undefined ? [] : [`${node} has ${report.bundle}`],
    );
    return {
      reason: 'BundleConflict',
      message: `the same name stands for different content: ${of.join(', ')}`,
    };
  }
  const problems = release.problems.filter(
    ({ reason }) => release.mounted.length === 0 || !refusals.includes(reason),
  );
  // What is wrong with the content comes before what is wrong with the way: the second may follow from it.
  const first = problems.find((problem) => !waysThatFail.includes(problem.reason)) ?? problems[0];
  if (first === undefined) return undefined;
  // Nodes that say the same say it once.
  const said = new Map<string, string[]>();
  for (const { node, message } of problems) said.set(message, [...(said.get(message) ?? []), node]);
  const message = [...said].map(([text, nodes]) => `${nodes.sort().join(', ')}: ${text}`).join('; ');
  return { reason: first.reason, message };
}

/** Asked for, and there is nothing that it could come from. */
export function isNowhere(release: ReleaseView): boolean {
  const somewhere = [release.held, release.unknown, release.mounted].some((nodes) => nodes.length > 0);
  return release.wanted && !somewhere;
}
