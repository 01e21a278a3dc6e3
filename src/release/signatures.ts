import { names } from '../api/names.ts';
import type { BundleDocument } from '../bundle/document.ts';
import { readReleaseSignatures } from '../bundle/release-signatures.ts';
import { messageOf } from '../errors/error.ts';
import { type ReleaseKeys, releaseKeysIn, type SignatureWord, signatureWord } from '../gates/release-keys.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Digest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import { collectSignatures, writeSignatures } from './signature-objects.ts';

export interface ReleaseSignatures {
  /**
   * Verifies the OpenPGP signatures that releases carry against the cluster's keyrings, and writes those that hold as
   * the ConfigMap in which the cluster-version operator looks for them. Answers by the bundle's name; a release of
   * which nothing is demanded is not among them.
   *
   * @param wanted payloads that are at hand or in use: what we wrote of others is taken away. Undefined where that is
   *   not known: then everything stays.
   */
  keep(
    documents: Iterable<BundleDocument>,
    wanted: ReadonlySet<Digest> | undefined,
  ): Promise<ReadonlyMap<string, SignatureWord>>;
}

/** Keyrings and signatures of the cluster are read this often. */
const refreshMs = 60_000;

export function createReleaseSignatures(of: {
  readonly client: KubeClient;
  readonly content: ContentSource;
  readonly clock: Clock;
  readonly logger: Logger;
}): ReleaseSignatures {
  const { client, clock, logger } = of;
  const { configManagedNamespace: namespace } = names(client.platform);
  const carried = new Map<Digest, readonly Uint8Array[]>();
  let words = new Map<string, SignatureWord>();
  let judged = '';
  let refreshAt = Number.NEGATIVE_INFINITY;

  async function refresh(wanted: ReadonlySet<Digest> | undefined): Promise<ReleaseKeys> {
    const { items } = await client.list(client.kinds.ConfigMap, { namespace });
    if (wanted !== undefined) {
      const collected = await collectSignatures(client, items, wanted);
      if (collected.length > 0) logger.info({ collected }, 'signatures of releases that are gone');
      for (const payload of carried.keys()) if (!wanted.has(payload)) carried.delete(payload);
    }
    refreshAt = clock.now() + refreshMs;
    return releaseKeysIn(items, client.platform);
  }

  async function judge(keys: ReleaseKeys, document: BundleDocument): Promise<SignatureWord | undefined> {
    if (!keys.required) return undefined;
    const { payload } = document;
    const own = carried.get(payload) ?? (await readReleaseSignatures(of.content, document));
    carried.set(payload, own);
    const word = await signatureWord(keys, { payload, carried: own, now: clock.now() });
    if (word?.good === true && own.length > 0) await writeSignatures(client, payload, own, namespace);
    return word;
  }

  return {
    async keep(documents, wanted) {
      const all = [...documents];
      const asked = JSON.stringify([all.map(({ name, payload }) => [name, payload]), [...(wanted ?? [])]]);
      if (asked === judged && clock.now() < refreshAt) return words;
      let keys: ReleaseKeys;
      try {
        keys = await refresh(wanted);
      } catch (error) {
        logger.warn({ error: messageOf(error) }, 'the keyrings of the cluster cannot be read');
        return words;
      }
      const found = new Map<string, SignatureWord>();
      let complete = true;
      for (const document of all) {
        try {
          const word = await judge(keys, document);
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
