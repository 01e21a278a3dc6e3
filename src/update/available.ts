import type { ClusterVersionStatusDesired } from '../api/resources.ts';
import { messageOf } from '../errors/error.ts';
import type { BundleClaim, Release, Releases } from '../gates/target.ts';
import { newestFirst } from '../gates/version.ts';

export interface AvailableUpdates {
  /** Newest first. */
  readonly updates: readonly ClusterVersionStatusDesired[];
  /** Bundles at hand that cannot be used, in words. */
  readonly problems: readonly string[];
}

/**
 * The releases at hand, on disks and on media, that say themselves that they may be reached from this version. Each
 * is opened by its signature first: what is unsigned is no update.
 */
export async function availableUpdates(
  releases: Releases,
  claims: readonly BundleClaim[],
  current: string,
): Promise<AvailableUpdates> {
  const found = new Map<string, Release>();
  const problems: string[] = [];
  for (const claim of claims) {
    if (claim.version === current) continue;
    try {
      const release = await releases.byPayload(claim.payload, [claim]);
      if (release.bundle.document.previous.includes(current)) found.set(release.digest, release);
    } catch (error) {
      problems.push(`${claim.name}: ${messageOf(error)}`);
    }
  }
  const updates = [...found.values()]
    .sort((a, b) => newestFirst(a.version, b.version) || (a.digest < b.digest ? -1 : 1))
    .map(({ version, image }): ClusterVersionStatusDesired => ({ version, image }));
  return { updates, problems };
}
