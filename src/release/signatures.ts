import type { ConfigMap } from '../api/core.ts';
import { names } from '../api/names.ts';
import type { BundleDocument } from '../bundle/document.ts';
import { readReleaseSignatures, signatureConfigMap, signaturesLabel } from '../bundle/release-signatures.ts';
import { isSluiceError, messageOf } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { isAlreadyExists } from '../kube/error.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { type Digest, digestOf, hexOf } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import { keyringsOf, type ReleaseKeyring, verifyRelease } from '../trust/release-signature.ts';

/** By it the running release marks the ConfigMap with the keyrings that it verifies others against. */
const keyringsAnnotation = 'release.openshift.io/verification-config-map';

/** What the cluster's own keyrings say of a release. */
export interface SignatureWord {
  /** The cluster-version operator would accept it. */
  readonly good: boolean;
  /** One sentence, with the names of keyrings and the ids of keys. */
  readonly message: string;
}

export interface ReleaseSignatures {
  /**
   * Verifies the OpenPGP signatures that releases carry against the cluster's keyrings, and writes those that hold as
   * the ConfigMap in which the cluster-version operator looks for them. Answers by the bundle's name; a release of
   * which nothing is to be said (no keyring in the cluster) is not among them.
   */
  keep(documents: Iterable<BundleDocument>): Promise<ReadonlyMap<string, SignatureWord>>;
}

/** Keyrings and signatures of the cluster are read this often. */
const refreshMs = 60_000;

interface Standing {
  readonly keyrings: readonly ReleaseKeyring[];
  /** Signatures in the cluster's ConfigMaps, by `sha256-<hex>`. */
  readonly signatures: ReadonlyMap<string, readonly Uint8Array[]>;
}

export function createReleaseSignatures(of: {
  readonly client: KubeClient;
  readonly content: ContentSource;
  readonly clock: Clock;
  readonly logger: Logger;
}): ReleaseSignatures {
  const { client, clock, logger } = of;
  const { configManagedNamespace: namespace } = names(client.platform);
  const carried = new Map<Digest, readonly Uint8Array[]>();
  let standing: Standing = { keyrings: [], signatures: new Map() };
  let words = new Map<string, SignatureWord>();
  let judged = '';
  let refreshAt = Number.NEGATIVE_INFINITY;

  async function refresh(): Promise<void> {
    const { items } = await client.list(client.kinds.ConfigMap, { namespace });
    standing = { keyrings: items.flatMap(keyringsIn), signatures: signaturesIn(items) };
    refreshAt = clock.now() + refreshMs;
  }

  async function judge(document: BundleDocument): Promise<SignatureWord | undefined> {
    const { keyrings, signatures } = standing;
    if (keyrings.length === 0) return undefined;
    const { payload } = document;
    const own = carried.get(payload) ?? (await readReleaseSignatures(of.content, document));
    carried.set(payload, own);
    const all = [...own, ...(signatures.get(`sha256-${hexOf(payload)}`) ?? [])];
    const different = [...new Map(all.map((bytes) => [digestOf(bytes), bytes])).values()];
    const wanted = keyrings.map((keyring) => keyring.name).join(', ');
    if (different.length === 0) {
      const message = `It carries no OpenPGP signature, and this cluster verifies releases against ${wanted}`;
      return { good: false, message };
    }
    try {
      const good = await verifyRelease(different, keyrings, payload, clock.now());
      if (own.length > 0) await writeSignatures(client, payload, own, namespace);
      const by = good.map(({ keyring, keyId }) => `key ${keyId} of ${keyring}`).join(', ');
      return { good: true, message: `Its OpenPGP signature holds: ${by}` };
    } catch (error) {
      if (!isSluiceError(error, 'SignatureUntrusted', 'InputInvalid', 'InputTooLarge')) throw error;
      return { good: false, message: `Its OpenPGP signature does not hold: ${error.message}` };
    }
  }

  return {
    async keep(documents) {
      const all = [...documents];
      const asked = JSON.stringify(all.map(({ name, payload }) => [name, payload]));
      if (asked === judged && clock.now() < refreshAt) return words;
      try {
        await refresh();
      } catch (error) {
        logger.warn({ error: messageOf(error) }, 'the keyrings of the cluster cannot be read');
        return words;
      }
      const found = new Map<string, SignatureWord>();
      let complete = true;
      for (const document of all) {
        try {
          const word = await judge(document);
          if (word !== undefined) found.set(document.name, word);
        } catch (error) {
          complete = false;
          logger.info({ release: document.name, error: messageOf(error) }, 'signatures cannot be kept yet');
        }
      }
      words = found;
      judged = complete ? asked : '';
      return words;
    },
  };
}

function keyringsIn({ metadata, data }: ConfigMap): ReleaseKeyring[] {
  return metadata.annotations?.[keyringsAnnotation] === undefined ? [] : keyringsOf(data ?? {});
}

function signaturesIn(items: readonly ConfigMap[]): Map<string, Uint8Array[]> {
  const found = new Map<string, Uint8Array[]>();
  for (const { metadata, binaryData } of items) {
    if (metadata.labels?.[signaturesLabel] === undefined) continue;
    for (const [key, base64] of Object.entries(binaryData ?? {})) {
      const release = /^sha256-[0-9a-f]{64}/.exec(key)?.[0];
      if (release === undefined) continue;
      found.set(release, [...(found.get(release) ?? []), Buffer.from(base64, 'base64')]);
    }
  }
  return found;
}

async function writeSignatures(
  client: KubeClient,
  payload: Digest,
  signatures: readonly Uint8Array[],
  namespace: string,
): Promise<void> {
  const { ConfigMap } = client.kinds;
  const { metadata, binaryData } = signatureConfigMap(payload, signatures, namespace);
  const { name, labels } = metadata;
  const before = await client.tryGet(ConfigMap, name, namespace);
  if (before === undefined) {
    await client
      .create(ConfigMap, {
        metadata: { name, namespace, labels: { ...labels } },
        binaryData: { ...binaryData },
      })
      .catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
      });
    return;
  }
  const isSame = Object.entries(binaryData).every(([key, value]) => before.binaryData?.[key] === value);
  if (isSame && Object.keys(labels).every((key) => before.metadata.labels?.[key] !== undefined)) return;
  const { resourceVersion } = before.metadata;
  await client.patch(
    ConfigMap,
    name,
    { metadata: { resourceVersion, labels: { ...labels } }, binaryData: { ...binaryData } },
    { namespace },
  );
}
