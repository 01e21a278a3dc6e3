import type { ConfigMap } from '../api/core.ts';
import { labels } from '../api/names.ts';
import { signatureConfigMap } from '../bundle/release-signatures.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists, isConflict } from '../kube/error.ts';
import { type Digest, hexOf } from '../oci/digest.ts';

/**
 * Writes the signatures of a release as the ConfigMap in which the cluster-version operator looks for them, where it
 * does not stand so already. What it is made with says that it is ours; one that somebody else made under its name
 * gets the signatures, and stays theirs.
 */
export async function writeSignatures(
  client: KubeClient,
  payload: Digest,
  signatures: readonly Uint8Array[],
  namespace: string,
): Promise<void> {
  const { ConfigMap } = client.kinds;
  const { metadata, binaryData } = signatureConfigMap(payload, signatures, namespace);
  const { name } = metadata;
  const before = await client.tryGet(ConfigMap, name, namespace);
  if (before === undefined) {
    const ours = { ...metadata.labels, [labels.releaseSignatures]: hexOf(payload).slice(0, shownDigits) };
    await client
      .create(ConfigMap, { metadata: { name, namespace, labels: ours }, binaryData: { ...binaryData } })
      .catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
      });
    return;
  }
  const isSame = Object.entries(binaryData).every(([key, value]) => before.binaryData?.[key] === value);
  const isFound = Object.keys(metadata.labels).every((key) => before.metadata.labels?.[key] !== undefined);
  if (isSame && isFound) return;
  const { resourceVersion } = before.metadata;
  await client.patch(
    ConfigMap,
    name,
    { metadata: { resourceVersion, labels: { ...metadata.labels } }, binaryData: { ...binaryData } },
    { namespace },
  );
}

/** Digits of a payload's digest in the label: a value has at most 63. */
const shownDigits = 12;

/** What is to be done with a ConfigMap of signatures. */
export type SignatureStep =
  | { readonly act: 'keep' }
  | { readonly act: 'delete' }
  /** Others have put something into it: only these keys are ours to take out. */
  | { readonly act: 'takeOut'; readonly keys: readonly string[] };

/**
 * Whether a ConfigMap with signatures is done with: it is ours, and its release is neither at hand nor in use any more.
 * Pure.
 *
 * @param wanted digests of all payloads that are.
 */
export function signatureStep(
  { metadata, data, binaryData }: ConfigMap,
  wanted: ReadonlySet<Digest>,
): SignatureStep {
  const digits = metadata.labels?.[labels.releaseSignatures];
  if (digits === undefined || !/^[0-9a-f]{12}$/.test(digits)) return { act: 'keep' };
  if ([...wanted].some((payload) => hexOf(payload).startsWith(digits))) return { act: 'keep' };
  const keys = Object.keys(binaryData ?? {});
  const ours = keys.filter((key) => key.startsWith(`sha256-${digits}`));
  if (ours.length === keys.length && Object.keys(data ?? {}).length === 0) return { act: 'delete' };
  return { act: 'takeOut', keys: ours };
}

/** Takes signatures of ours out of a ConfigMap that is not ours alone (any more). Errors: the client's. */
export async function takeOut(
  client: KubeClient,
  { metadata: { name, namespace = '', resourceVersion } }: ConfigMap,
  keys: readonly string[],
): Promise<void> {
  const binaryData = Object.fromEntries(keys.map((key) => [key, null]));
  const metadata = { resourceVersion, labels: { [labels.releaseSignatures]: null } };
  await client.patch(client.kinds.ConfigMap, name, { metadata, binaryData }, { namespace });
}

/** Takes away the signatures of releases that are gone. @returns the names of the ConfigMaps. */
export async function collectSignatures(
  client: KubeClient,
  items: readonly ConfigMap[],
  wanted: ReadonlySet<Digest>,
): Promise<string[]> {
  const { ConfigMap } = client.kinds;
  const collected: string[] = [];
  for (const object of items) {
    const step = signatureStep(object, wanted);
    if (step.act === 'keep') continue;
    const { name, namespace = '', uid = '', resourceVersion = '' } = object.metadata;
    try {
      if (step.act === 'delete') await client.delete(ConfigMap, name, { namespace, uid, resourceVersion });
      else await takeOut(client, object, step.keys);
      collected.push(name);
    } catch (error) {
      if (!isConflict(error)) throw error; // Somebody writes to it: looked at again.
    }
  }
  return collected;
}
