import type { ConfigMap } from '../api/core.ts';
import { finalizers, names } from '../api/names.ts';
import type { InternalReleaseImage } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists } from '../kube/error.ts';
import { writePolicyFacts } from '../kube/policy-facts.ts';
import type { Digest } from '../oci/digest.ts';
import { type InUse, inUseData } from './in-use.ts';
import { addMirrors, type MirrorEntry } from './mirrors.ts';

/** On the in-use ConfigMap: bundles that were on media when somebody deleted the InternalReleaseImage. */
const deletedAnnotation = 'sluice.dev/release-image-deleted';

/** Publishes what is in use, for the admission policy first and then for the nodes; written only where it changed. */
export async function writeInUse(client: KubeClient, set: InUse | undefined): Promise<void> {
  const { inUse: name, machineConfigNamespace: namespace } = names(client.platform);
  const { ConfigMap } = client.kinds;
  const data = inUseData(set);
  await writePolicyFacts(client, name, data);
  const standing = await client.tryGet(ConfigMap, name, namespace);
  if (standing === undefined) {
    await client.create(ConfigMap, { metadata: { name, namespace }, data });
  } else if (Object.entries(data).some(([key, value]) => standing.data?.[key] !== value)) {
    const { resourceVersion } = standing.metadata;
    await client.patch(ConfigMap, name, { metadata: { resourceVersion }, data }, { namespace });
  }
}

/** Adds what is new to the mirror set; what stands is never taken away. */
export async function writeMirrors(client: KubeClient, wanted: readonly MirrorEntry[]): Promise<void> {
  const { mirrorSet } = names(client.platform);
  const { ImageDigestMirrorSet } = client.kinds;
  const plain = (entries: readonly MirrorEntry[]) =>
    entries.map(({ source, mirrors }) => ({ source, mirrors: [...mirrors] }));
  const standing = await client.tryGet(ImageDigestMirrorSet, mirrorSet);
  if (standing === undefined) {
    await client.create(ImageDigestMirrorSet, {
      metadata: { name: mirrorSet },
      spec: { imageDigestMirrors: plain(wanted) },
    });
    return;
  }
  const current = (standing.spec.imageDigestMirrors ?? []).map(({ source, mirrors }) => ({
    source,
    mirrors: mirrors ?? [],
  }));
  const merged = addMirrors(current, wanted);
  if (merged === current) return;
  const policies = new Map(
    (standing.spec.imageDigestMirrors ?? []).map((entry) => [entry.source, entry.mirrorSourcePolicy]),
  );
  const imageDigestMirrors = plain(merged).map((entry) => {
    const mirrorSourcePolicy = policies.get(entry.source);
    return mirrorSourcePolicy === undefined ? entry : { ...entry, mirrorSourcePolicy };
  });
  const { resourceVersion } = standing.metadata;
  await client.patch(ImageDigestMirrorSet, mirrorSet, {
    metadata: { resourceVersion },
    spec: { imageDigestMirrors },
  });
}

/**
 * Makes the one InternalReleaseImage with the release in use. One that somebody deleted comes back only when
 * other media appear, or when a person makes it.
 */
export async function createReleaseImage(
  client: KubeClient,
  release: string,
  mounted: readonly Digest[],
): Promise<void> {
  const { internalReleaseImage, inUse, machineConfigNamespace: namespace } = names(client.platform);
  const { kinds } = client;
  const configMap = await client.tryGet(kinds.ConfigMap, inUse, namespace);
  const seen = deletedWith(configMap);
  if (seen !== undefined && mounted.every((digest) => seen.includes(digest))) return;
  try {
    await client.create(kinds.InternalReleaseImage, {
      metadata: { name: internalReleaseImage, finalizers: [finalizers.internalReleaseImage] },
      spec: { releases: [{ name: release }] },
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  if (seen !== undefined) await annotate(client, null);
}

function deletedWith(configMap: ConfigMap | undefined): string[] | undefined {
  const text = configMap?.metadata.annotations?.[deletedAnnotation];
  if (text === undefined) return undefined;
  return text.split(',').filter((item) => item !== '');
}

async function annotate(client: KubeClient, value: string | null): Promise<void> {
  const { inUse, machineConfigNamespace: namespace } = names(client.platform);
  const metadata = { annotations: { [deletedAnnotation]: value } };
  await client.patch(client.kinds.ConfigMap, inUse, { metadata }, { namespace });
}

/** Puts our finalizer on, so that a deletion first frees the space. */
export async function addFinalizer(client: KubeClient, object: InternalReleaseImage): Promise<void> {
  const standing = object.metadata.finalizers ?? [];
  if (standing.includes(finalizers.internalReleaseImage)) return;
  await patchFinalizers(client, object, [...standing, finalizers.internalReleaseImage]);
}

/** Lets a deletion end; finalizers of others stay. */
export async function endDeletion(
  client: KubeClient,
  object: InternalReleaseImage,
  mounted: readonly Digest[],
): Promise<void> {
  await annotate(client, [...mounted].sort().join(','));
  const standing = object.metadata.finalizers ?? [];
  await patchFinalizers(
    client,
    object,
    standing.filter((each) => each !== finalizers.internalReleaseImage),
  );
}

async function patchFinalizers(
  client: KubeClient,
  object: InternalReleaseImage,
  wanted: string[],
): Promise<void> {
  const { name, resourceVersion } = object.metadata;
  const metadata = { resourceVersion, finalizers: wanted };
  await client.patch(client.kinds.InternalReleaseImage, name, { metadata });
}
