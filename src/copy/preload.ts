import { openBundle } from '../bundle/bundle.ts';
import { type Delta, describeBase, readDelta } from '../bundle/delta.ts';
import { SluiceError } from '../errors/error.ts';
import { type Clock, systemClock } from '../observe/clock.ts';
import { counted } from '../observe/count.ts';
import type { ContentSource } from '../oci/source.ts';
import { openStore } from '../store/store.ts';
import type { TrustedKey } from '../trust/keys.ts';
import type { CopyProgress } from './meter.ts';
import { type CopyPlan, planCopy, requireSpace } from './plan.ts';
import { describeOutcome, runCopy } from './run.ts';
import { readWholeRecords, type WholeRecord } from './whole.ts';

/**
 * Puts a release into a store before its node runs: same signature, same bytes, same record as a copy that the
 * node makes, so that the node adopts it at its start without reading it again. A second call finds it whole.
 *
 * @param storeRoot the directory that holds `docker/registry/v2`; made where it is not there.
 * Errors: those of `openBundle`; Conflict where the name stands for other content; DiskFull; what ended the copy.
 */
export async function preload(
  content: ContentSource,
  name: string,
  storeRoot: string,
  options: {
    readonly keys: readonly TrustedKey[];
    readonly signal?: AbortSignal;
    readonly clock?: Clock;
    readonly onProgress?: (progress: CopyProgress) => void;
  },
): Promise<WholeRecord> {
  const bundle = await openBundle(content, { name }, options.keys);
  const delta = await readDelta(content, bundle.digest, options.keys);
  const store = await openStore(storeRoot);
  await store.bind(name, bundle.digest);
  const standing = (await readWholeRecords(storeRoot)).get(name);
  if (standing !== undefined) return standing;
  const plan = await planCopy(content, store, bundle);
  requireBase(delta, plan);
  requireSpace(plan, await store.space());
  const outcome = await runCopy(plan, {
    signal: options.signal ?? new AbortController().signal,
    clock: options.clock ?? systemClock,
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
  if (outcome.outcome === 'Whole') return outcome.record;
  const code =
    outcome.outcome === 'Paused'
      ? outcome.code
      : outcome.outcome === 'Failed'
        ? (outcome.problems[0]?.code ?? 'Internal')
        : 'Timeout';
  throw new SluiceError(code, `release ${name} is not whole in ${storeRoot}: ${describeOutcome(outcome)}`);
}

/** Errors: ContentMissing where the media leave out what the store lacks. */
function requireBase(delta: Delta | undefined, plan: CopyPlan): void {
  if (delta === undefined) return;
  const lacking = plan.missing.filter((blob) => delta.lacks.has(blob.digest));
  if (lacking.length === 0) return;
  const base = describeBase(delta);
  const { name } = plan.bundle.document;
  throw new SluiceError(
    'ContentMissing',
    `what ${plan.source.label} carries of ${name} is a delta: it needs ${base}, of which ${plan.store.root} lacks ${counted(lacking.length, 'blob')}`,
    { next: `Preload ${base} first, or take media that carry ${name} whole.` },
  );
}
