import type { ClusterVersion, UpdatePreflight } from '../api/resources.ts';

/** A release whose checks are shown. */
interface ShownRelease {
  readonly digest: string;
  readonly version?: string | undefined;
}

/**
 * How the cluster stands to a release that it has or goes to already, so that no update follows from its checks.
 * Undefined where it is another release. Pure.
 *
 * @param source the digest of what ran when they were looked at; absent: they are of now.
 */
export function alreadyTold(
  { status }: ClusterVersion,
  release: ShownRelease,
  source: string = release.digest,
): string | undefined {
  if (status?.desired.image.endsWith(`@${release.digest}`) !== true) return undefined;
  const shown = release.version ?? release.digest;
  const [newest, ...older] = status.history ?? [];
  if (newest?.state !== 'Completed')
    return `the update to ${shown} is under way already: sluice upgrade status`;
  // What it was installed with was let through by nobody.
  const report =
    older.length === 0 ? '' : `\n  what let it through: sluice upgrade report show ${release.version ?? ''}`;
  const of = source === release.digest ? 'say how it is now' : 'are those from before that update';
  return `the cluster runs ${shown} already: there is nothing to update, and the checks ${of}${report}`;
}

/** Why no update follows from a report that somebody looks at; undefined where one does. Pure. */
export function noUpdateFollows(
  version: ClusterVersion | undefined,
  report: UpdatePreflight,
): string | undefined {
  const { target, source } = report.status ?? {};
  if (version === undefined || target?.digest === undefined) return undefined;
  const told = alreadyTold(version, { digest: target.digest, version: target.version }, source?.digest);
  if (told !== undefined) return told;
  const { image = '', version: runs = image } = version.status?.desired ?? {};
  if (source?.digest === undefined || image === '' || image.endsWith(`@${source.digest}`)) return undefined;
  const again = target.version === undefined ? '' : `: sluice preflight run --to ${target.version}`;
  return `the cluster ran ${source.version ?? source.digest} when this was looked at, and ${runs} is what it has now: look again${again}`;
}
