import { tryVersion } from '../gates/version.ts';
import { counted } from '../observe/count.ts';
import { renderTable } from './output.ts';
import type { Issue, Recommendation } from './upgrade-recommend.ts';

/** Releases of one minor version that are shown unless all are asked for. */
const shownOfMinor = 2;
const noIssues = 'no known issues relevant to this cluster';

/** What speaks against any update, then the releases at hand by their minor versions, newest first. */
export function recommendLines(
  cluster: { readonly well: readonly string[]; readonly concerns: readonly Issue[] },
  found: readonly Recommendation[],
  options: { readonly outdated?: boolean } = {},
): string[] {
  const lines = concernLines(cluster);
  if (found.length === 0) {
    return [
      ...lines,
      '',
      'No other release is at hand. Attach media that carry one: sluice media attach PATH --node NODE',
    ];
  }
  for (const [minor, members] of byMinor(found)) {
    const shown = options.outdated === true ? members : members.slice(0, shownOfMinor);
    lines.push(
      '',
      members.every((each) => each.isOlder) ? `Back to ${minor}:` : `Updates to ${minor}:`,
      renderTable(
        ['VERSION', 'CONTENT', 'PREFLIGHT', 'ISSUES'],
        shown.map((each) => [each.version, each.content, each.preflight, issueNames(each.issues)]),
      ),
    );
    const older = members.length - shown.length;
    if (older > 0) {
      lines.push(`And ${counted(older, `older ${minor} release`)}: --show-outdated-releases`);
    }
  }
  lines.push('', 'One of them in full: sluice upgrade recommend --version VERSION');
  return lines;
}

/** One release in full: the verdict, where it is, what was looked at, and each issue with what to do. */
export function targetLines(
  cluster: { readonly well: readonly string[]; readonly concerns: readonly Issue[] },
  found: Recommendation,
): string[] {
  const open = [...cluster.concerns, ...found.issues].filter((issue) => !issue.accepted);
  const count = counted(open.length, 'issue stands', 'issues stand');
  const verdict =
    open.length === 0 ? `${found.version}: ${noIssues}.` : `${found.version}: ${count} against it.`;
  const lines = [
    verdict,
    `Payload:    ${found.payload}`,
    `Bundle:     ${found.name}, ${found.content}`,
    `Preflight:  ${found.preflight}`,
    '',
    ...concernLines({ well: cluster.well, concerns: [...cluster.concerns, ...found.issues] }),
  ];
  const next =
    open.length > 0
      ? []
      : found.toCopy
        ? [`sluice release add ${found.version}`, `sluice upgrade --to ${found.version}`]
        : [`sluice upgrade --to ${found.version}`];
  return next.length === 0 ? lines : [...lines, '', 'Next:', ...next.map((line) => `  ${line}`)];
}

function concernLines({
  well,
  concerns,
}: {
  readonly well: readonly string[];
  readonly concerns: readonly Issue[];
}): string[] {
  const open = concerns.filter((issue) => !issue.accepted);
  const accepted = concerns.filter((issue) => issue.accepted);
  return [
    ...(well.length === 0 ? [] : [`No cause for concern: ${well.join(', ')}`]),
    ...(accepted.length === 0 ? [] : [`Accepted: ${names(accepted)}`]),
    ...(open.length === 0 ? [] : [`Open: ${names(open)}`]),
    ...open.flatMap((issue) => [
      '',
      `${issue.name}=${issue.status}:`,
      `  Reason: ${issue.reason}`,
      `  Message: ${issue.message.replaceAll('\n', '\n    ')}`,
      ...(issue.next === undefined ? [] : [`  Next: ${issue.next}`]),
    ]),
  ];
}

function issueNames(issues: readonly Issue[]): string {
  const open = issues.filter((issue) => !issue.accepted);
  const accepted = issues.length - open.length;
  const also = accepted === 0 ? '' : `${accepted} accepted`;
  if (open.length === 0) return accepted === 0 ? noIssues : also;
  return [names(open), also].filter((part) => part !== '').join('; ');
}

function names(issues: readonly Issue[]): string {
  return [...new Set(issues.map((issue) => issue.name))].sort().join(', ');
}

function byMinor(found: readonly Recommendation[]): [string, Recommendation[]][] {
  const groups = new Map<string, Recommendation[]>();
  for (const each of found) {
    const version = tryVersion(each.version);
    const minor = version === undefined ? each.version : `${version.major}.${version.minor}`;
    groups.set(minor, [...(groups.get(minor) ?? []), each]);
  }
  return [...groups];
}
