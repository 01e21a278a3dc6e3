import type { CopyProgress } from '../copy/meter.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { StoreSpace } from '../store/store.ts';
import type { Attachment } from './attachments.ts';
import type { CopySource } from './copy-source.ts';
import { type CopyView, secondsLeftOf } from './copy-view.ts';
import type { StoreView } from './store-view.ts';

/** How a copy ended, or why it stands still. */
type CopyEnd = 'Whole' | 'Paused' | 'Failed' | 'Stopped';

/** What the content of one node tells Prometheus. */
export interface ContentMetrics {
  /** Meters one copy: called with each of its progresses. */
  copying(source: CopySource['kind']): (progress: CopyProgress) => void;
  /** @param code of the error where it is paused or failed: `Stalled`, `MediaLost`, `DiskFull`, … */
  copyEnded(end: CopyEnd, code?: string): void;
  scrubbed(bytes: number): void;
  damaged(): void;
  scrubEnded(at: number): void;
  removed(bytes: number): void;
}

/** @param of what stands now, asked at each scrape. */
export function createContentMetrics(
  metrics: Metrics,
  of: {
    readonly copies: () => readonly CopyView[];
    readonly attachments: () => readonly Attachment[];
    readonly store: () => StoreView;
    readonly space: () => Promise<StoreSpace>;
  },
): ContentMetrics {
  const copied = metrics.counter(
    'sluice_content_copied_bytes_total',
    'Bytes of releases that were written to the store, by what the copy was made from; nodes that copy one medium share the reading of it.',
    ['source'],
  );
  const verified = metrics.counter(
    'sluice_content_verified_bytes_total',
    'Bytes of releases that were read back from the store and are right.',
  );
  const ends = metrics.counter(
    'sluice_content_copy_ends_total',
    'Copies that ended or stand still, with the error where there is one.',
    ['end', 'code'],
  );
  const scrubbed = metrics.counter('sluice_content_scrubbed_bytes_total', 'Bytes that were hashed again.');
  const damaged = metrics.counter(
    'sluice_content_damaged_total',
    'Blobs and manifests that were not right any more and went to quarantine.',
  );
  const scrubEnded = metrics.gauge(
    'sluice_content_scrub_end_timestamp_seconds',
    'When the last round of hashing everything again ended.',
  );
  const removed = metrics.counter('sluice_content_removed_bytes_total', 'Bytes that removed releases freed.');
  const copyBytes = metrics.gauge(
    'sluice_content_copy_bytes',
    'Copies under way: bytes that are there, and that there will be.',
    ['release', 'kind'],
  );
  const copyImages = metrics.gauge(
    'sluice_content_copy_images',
    'Copies under way: images that are whole, and that there will be.',
    ['release', 'kind'],
  );
  const copyLeft = metrics.gauge(
    'sluice_content_copy_left_seconds',
    'Copies under way: the time until they are done, at the rate of the last while; absent where that is not known.',
    ['release'],
  );
  const copyRate = metrics.gauge(
    'sluice_content_copy_rate_bytes_per_second',
    'Copies under way: how fast they go; 0 for one that stands still.',
    ['release'],
  );
  const releases = metrics.gauge(
    'sluice_content_release_bytes',
    'Releases that the store holds whole; what several share counts in each.',
    ['release'],
  );
  const disk = metrics.gauge('sluice_content_disk_bytes', 'The file system of the store.', ['kind']);
  const media = metrics.gauge('sluice_content_media', 'Attached media, by whether they are there.', [
    'state',
  ]);
  const bundles = metrics.gauge(
    'sluice_content_media_bundles',
    'Bundles on attached media, by whether they are verified.',
    ['state'],
  );
  for (const source of ['store', 'media', 'peer'] as const) copied.add({ source }, 0);

  metrics.beforeRender(() => {
    const copies = of.copies();
    copyBytes.replace(
      copies.flatMap(({ release, progress }) => [
        [{ release, kind: 'done' }, progress?.bytesDone ?? 0],
        [{ release, kind: 'total' }, progress?.bytesTotal ?? 0],
      ]),
    );
    copyImages.replace(
      copies.flatMap(({ release, progress }) => [
        [{ release, kind: 'done' }, progress?.imagesDone ?? 0],
        [{ release, kind: 'total' }, progress?.imagesTotal ?? 0],
      ]),
    );
    copyLeft.replace(copies.map((copy) => [{ release: copy.release }, secondsLeftOf(copy)]));
    copyRate.replace(copies.map(({ release, rate }) => [{ release }, rate ?? 0]));
    releases.replace([...of.store().records].map(([release, { bytes }]) => [{ release }, bytes]));
    const attached = of.attachments();
    media.replace(tally(attached, ['Present', 'Lost']));
    bundles.replace(
      tally(
        attached.flatMap((each) => each.bundles),
        ['Verified', 'Refused'],
      ),
    );
  });
  metrics.beforeRender(async () => {
    const { bytesFree, bytesTotal } = await of.space();
    disk.replace([
      [{ kind: 'free' }, bytesFree],
      [{ kind: 'total' }, bytesTotal],
    ]);
  });

  return {
    copying(source) {
      let written = 0;
      let checked = 0;
      return ({ phase, bytesWritten, bytesDone }) => {
        copied.add({ source }, bytesWritten - written);
        written = bytesWritten;
        if (phase !== 'Verifying') return;
        verified.add({}, bytesDone - checked);
        checked = bytesDone;
      };
    },
    copyEnded: (end, code = '') => ends.add({ end, code }),
    scrubbed: (bytes) => scrubbed.add({}, bytes),
    damaged: () => damaged.add({}),
    scrubEnded: (at) => scrubEnded.set({}, at / 1000),
    removed: (bytes) => removed.add({}, bytes),
  };
}

function tally<S extends string>(
  things: readonly { readonly state: S }[],
  states: readonly S[],
): [{ state: S }, number][] {
  return states.map((state) => [{ state }, things.filter((each) => each.state === state).length]);
}
