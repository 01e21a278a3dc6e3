import type { InternalReleaseImage } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../observe/clock.ts';
import type { ReleaseImageStatus, ReleaseStatus } from './report.ts';
import { createWritePace, progressWaits } from './write-pace.ts';

export interface StatusWriter {
  /**
   * Writes the status where it differs from what stands: at once, but `Later` where only the words on how far copies
   * are differ and such have just been written. Errors: a Conflict where somebody wrote meanwhile.
   */
  write(object: InternalReleaseImage, status: ReleaseImageStatus): Promise<'Written' | 'Same' | 'Later'>;
  /** Milliseconds after which `Later` has come. */
  remainingMs(): number;
}

export function createStatusWriter(client: KubeClient, clock: Clock): StatusWriter {
  const pace = createWritePace(progressWaits, clock);
  return {
    remainingMs: pace.remainingMs,
    async write(object, status) {
      // The schema allows no empty list of releases; spec holds at least one name, so this is only caution.
      if (status.releases.length === 0) return 'Same';
      const standing = object.status;
      if (plainText(standing) === plainText(status)) return 'Same';
      if (!pace.isDue(plainText(standing, withoutProgress) !== plainText(status, withoutProgress)))
        return 'Later';
      try {
        await client.updateStatus(client.kinds.InternalReleaseImage, {
          ...object,
          status: {
            conditions: [...status.conditions],
            releases: status.releases.map((each) => ({ ...each })),
          },
        });
      } catch (error) {
        pace.forget();
        throw error;
      }
      return 'Written';
    },
  };
}

type Conditions = Partial<ReleaseStatus>['conditions'];

/** The conditions of a release without how far copies are, and on how many nodes they have ended. */
function withoutProgress(conditions: Conditions): Conditions {
  const copying = conditions?.some((each) => each.type === 'Installing' && each.reason === 'Copying');
  if (copying !== true) return conditions;
  return conditions?.map((each) =>
    each.type === 'Installing' || (each.type === 'Available' && each.status === 'False')
      ? { ...each, message: '' }
      : each,
  );
}

/** The same keys in the same order, whoever wrote them. */
function plainText(
  status: InternalReleaseImage['status'] | ReleaseImageStatus,
  of: (conditions: Conditions) => Conditions = (conditions) => conditions,
): string {
  const plain = (list: Conditions) =>
    (list ?? []).map((each) => Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)));
  return JSON.stringify({
    conditions: plain(status?.conditions),
    releases: (status?.releases ?? []).map((each) => [
      each.name,
      each.image ?? null,
      plain(of(each.conditions)),
    ]),
  });
}
