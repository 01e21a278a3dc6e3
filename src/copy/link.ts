import type { ClosureItem } from '../bundle/closure.ts';
import { bundleRepository } from '../bundle/document.ts';
import { faultPoint } from '../durable/fault.ts';
import { SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { isIndexType } from '../oci/manifest.ts';
import { eachInTurn } from '../turns/each.ts';
import { withItem } from './item.ts';
import type { Pace } from './pace.ts';
import type { CopyPlan } from './plan.ts';

/**
 * Manifests and names that are made at once: each waits for flushes, which the file system takes together. Paced, one
 * at a time: others' flushes then wait for one of these at most.
 */
const atOnceUnpaced = 8;

/**
 * Makes blobs, then manifests, then names visible: whoever sees a name finds all that stands below it. Manifests of
 * images know nothing of each other; indexes follow in their order, then the bundle's own, whose name is the last.
 */
export async function linkAndName(
  plan: CopyPlan,
  { signal, pace }: { readonly signal: AbortSignal; readonly pace?: Pace },
): Promise<void> {
  const { store, items } = plan;
  const atOnce = pace === undefined ? atOnceUnpaced : 1;
  const layers = new Map<string, Digest[]>();
  for (const item of items) {
    if (item.kind !== 'blob') continue;
    layers.set(item.repository, [...(layers.get(item.repository) ?? []), item.digest]);
  }
  await eachInTurn(layers, 1, signal, ([repository, digests]) => store.linkLayers(repository, digests));
  const manifests = items.filter((item) => item.kind === 'manifest');
  const own = manifests.filter((item) => item.repository === bundleRepository);
  const images = manifests.filter((item) => item.repository !== bundleRepository);
  const put = (item: ClosureItem) => putManifest(plan, item);
  await eachInTurn(
    images.filter((item) => !isIndexType(item.mediaType)),
    atOnce,
    signal,
    put,
  );
  await eachInTurn(
    images.filter((item) => isIndexType(item.mediaType)),
    1,
    signal,
    put,
  );
  await eachInTurn(own, 1, signal, put);
  const name = async (item: ClosureItem) => {
    for (const tag of item.tags) await store.tag(item.repository, tag, item.digest);
  };
  await eachInTurn(images, atOnce, signal, name);
  await eachInTurn(own, 1, signal, name);
}

async function putManifest({ store, source }: CopyPlan, item: ClosureItem): Promise<void> {
  await withItem(item, async () => {
    const raw = await source.manifest(item.repository, item.digest);
    if (raw === undefined) {
      throw new SluiceError('ContentMissing', `there is no manifest ${item.digest} in ${source.label}`);
    }
    await store.putManifest(item.repository, raw, { sparse: true });
  });
  faultPoint('copy-manifest');
}
