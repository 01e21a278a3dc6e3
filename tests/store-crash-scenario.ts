import { digestOf, referrersTag } from '../src/oci/digest.ts';
import { mediaTypes } from '../src/oci/manifest.ts';
import { openStore } from '../src/store/store.ts';
import { imageOf, manifestOf, putImage, tarOf } from './content.ts';

const repository = 'openshift/release';

/**
 * Everything that changes a store, the same each time: an image comes, an index over two, a tag moves, a name is
 * bound, the first release is removed. Run as a program with the store's root, it can be killed anywhere.
 */
export async function storeScenario(root: string): Promise<void> {
  const store = await openStore(root);
  const layer = (name: string, bytes: number) =>
    tarOf([{ header: { name }, data: Buffer.alloc(bytes, name) }]);
  const shared = await layer('shared', 1_500_000);
  const one = imageOf([shared, await layer('one', 10)], { compress: 'none' });
  const two = imageOf([shared, await layer('two', 700_000)], { compress: 'none' });
  const old = await store.resolveTag(repository, 'current');
  if (old !== two.raw.digest) {
    await putImage(store, repository, one, 'current');
    await putImage(
      store,
      repository,
      imageOf([await layer('signature', 10)]),
      `${referrersTag(one.raw.digest)}.sig`,
    );
  }
  await putImage(store, repository, two, 'current');
  const index = manifestOf(
    { schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests: [two.descriptor] },
    mediaTypes.ociIndex,
  );
  await store.putManifest(repository, index.raw);
  await store.tag(repository, 'multi', index.raw.digest);
  await store.bind('ocp-release-bundle-1.1.0-x86_64', digestOf(Buffer.from('bundle')));
  const plan = await store.planCollection({
    keep: [
      { repository, kind: 'manifest', digest: index.raw.digest, tags: ['multi'] },
      { repository, kind: 'manifest', digest: two.raw.digest, tags: ['current'] },
    ],
    graceMs: 0,
    now: Date.now() + 1_000,
  });
  await store.applyCollection(plan);
}

const [, program, root] = process.argv;
if (program === import.meta.filename && root !== undefined) await storeScenario(root);
