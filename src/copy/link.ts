import type { ClosureItem } from '../bundle/closure.ts';
import { bundleRepository } from '../bundle/document.ts';
import { faultPoint } from '../durable/fault.ts';
import { isSluiceError, SluiceError } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import { isIndexType } from '../oci/manifest.ts';
import { eachInTurn } from '../turns/each.ts';
import { withItem } from './item.ts';
import type { CopyPlan, PlannedBlob } from './plan.ts';

/** Blobs are linked this often while the copy goes on, so that other nodes can have them from here. */
const linkEveryMs = 500;

/** Links what has come, some at a time: each link costs flushes. */
export function createLinker(plan: CopyPlan) {
  const repositories = new Map<Digest, Set<string>>();
  for (const item of plan.items) {
    if (item.kind !== 'blob') continue;
    repositories.set(item.digest, (repositories.get(item.digest) ?? new Set()).add(item.repository));
  }
  let waiting: Digest[] = [];
  let linkedAt = performance.now();
  async function finish(): Promise<void> {
    const byRepository = new Map<string, Digest[]>();
    for (const digest of waiting.splice(0)) {
      for (const name of repositories.get(digest) ?? []) {
        byRepository.set(name, [...(byRepository.get(name) ?? []), digest]);
      }
    }
    waiting = [];
    linkedAt = performance.now();
    for (const [repository, digests] of byRepository) {
      try {
        await plan.store.linkLayers(repository, digests);
      } catch (error) {
        // One that was found damaged meanwhile; at its end the copy links everything.
        if (!isSluiceError(error, 'ContentMissing')) throw error;
      }
    }
  }
  return {
    async arrived(blob: PlannedBlob): Promise<void> {
      waiting.push(blob.digest);
      if (performance.now() - linkedAt >= linkEveryMs) await finish();
    },
    finish,
  };
}

/** Manifests and names that are made at once: each waits for flushes, which the file system takes together. */
const atOnce = 8;

/**
 * Makes blobs, then manifests, then names visible: whoever sees a name finds all that stands below it. Manifests of
 * images know nothing of each other; indexes follow in their order, then the bundle's own, whose name is the last.
 */
export async function linkAndName(plan: CopyPlan, signal: AbortSignal): Promise<void> {
  const { store, items } = plan;
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
