import type { Digest } from '../oci/digest.ts';
import type { CopyPlan, PlannedBlob } from './plan.ts';

export interface CopyProgress {
  readonly phase: 'Copying' | 'Verifying';
  /**
   * Of the whole closure, what the store had before included, in blobs that are not whole as well. It never goes back
   * within a phase: what is fetched a second time is counted when it goes beyond the first.
   */
  readonly bytesDone: number;
  readonly bytesTotal: number;
  /** Written to the disk by this call. */
  readonly bytesWritten: number;
  readonly imagesDone: number;
  readonly imagesTotal: number;
}

export interface Meter {
  /** The blob stands at `offset`; `written` bytes of it were just written. */
  blobAt(blob: PlannedBlob, offset: number, written: number): void;
  blobDone(blob: PlannedBlob): void;
  verifying(): void;
  verified(blob: PlannedBlob): void;
  bytesWritten(): number;
}

/** Counts a copy: bytes, and the images whose last blob has come. */
export function createMeter(plan: CopyPlan, onProgress?: (progress: CopyProgress) => void): Meter {
  let phase: CopyProgress['phase'] = 'Copying';
  let written = 0;
  let verifiedBytes = 0;
  let doneBytes = plan.bytesTotal - plan.bytesMissing;
  let shownBytes = Math.min(plan.bytesTotal, doneBytes + plan.bytesArrived);
  const at = new Map<Digest, number>();
  const lacking = lackingByImage(plan);
  const report = () => {
    const imagesDone = plan.imagesTotal - lacking.size;
    shownBytes = Math.max(shownBytes, doneBytes);
    const bytesDone = phase === 'Verifying' ? verifiedBytes : shownBytes;
    onProgress?.({
      phase,
      bytesDone,
      bytesTotal: plan.bytesTotal,
      bytesWritten: written,
      imagesDone,
      imagesTotal: plan.imagesTotal,
    });
  };
  const moveTo = (blob: PlannedBlob, offset: number) => {
    doneBytes += offset - (at.get(blob.digest) ?? 0);
    at.set(blob.digest, offset);
  };
  report();
  return {
    blobAt(blob, offset, bytes) {
      moveTo(blob, offset);
      written += bytes;
      report();
    },
    blobDone(blob) {
      moveTo(blob, blob.size);
      for (const [image, digests] of lacking) {
        digests.delete(blob.digest);
        if (digests.size === 0) lacking.delete(image);
      }
      report();
    },
    verifying() {
      phase = 'Verifying';
      report();
    },
    verified(blob) {
      verifiedBytes += blob.size;
      report();
    },
    bytesWritten: () => written,
  };
}

/** For each image what it still waits for. */
function lackingByImage(plan: CopyPlan): Map<string, Set<Digest>> {
  const missing = new Set(plan.missing.map((blob) => blob.digest));
  const lacking = new Map<string, Set<Digest>>();
  for (const item of plan.items) {
    if (item.kind !== 'blob' || !missing.has(item.digest)) continue;
    lacking.set(item.image, (lacking.get(item.image) ?? new Set()).add(item.digest));
  }
  return lacking;
}
