import type { ConfigMap } from '../api/core.ts';
import type { Platform } from '../api/kinds.ts';
import { names } from '../api/names.ts';
import { signaturesLabel } from '../bundle/release-signatures.ts';
import { isSluiceError } from '../errors/error.ts';
import type { KubeClient } from '../kube/client.ts';
import { type Digest, digestOf, hexOf } from '../oci/digest.ts';
import { keyringsOf, type ReleaseKeyring, verifyRelease } from '../trust/release-signature.ts';

/** By it the running release marks the ConfigMap with the keyrings that it verifies others against. */
const keyringsAnnotation = 'release.openshift.io/verification-config-map';

/** What the cluster itself knows of OpenPGP signatures of releases. */
export interface ReleaseKeys {
  /** Whether a release must be signed so: always where a cluster-version operator judges, else where keys are configured. */
  readonly required: boolean;
  readonly keyrings: readonly ReleaseKeyring[];
  /** Signatures in the cluster's ConfigMaps, by `sha256-<hex>`. */
  readonly signatures: ReadonlyMap<string, readonly Uint8Array[]>;
}

/** What the keyrings of a cluster say of one release. */
export interface SignatureWord {
  /** The cluster-version operator would accept it. */
  readonly good: boolean;
  /** One sentence, with the names of keyrings and the ids of keys. */
  readonly message: string;
  /** What to do where it is not good. */
  readonly next?: string;
}

/** Reads the ConfigMaps in which keyrings and signatures of releases stand. */
export async function readReleaseKeys(client: KubeClient): Promise<ReleaseKeys> {
  const { configManagedNamespace: namespace } = names(client.platform);
  const { items } = await client.list(client.kinds.ConfigMap, { namespace });
  return releaseKeysIn(items, client.platform);
}

/** Pure. */
export function releaseKeysIn(items: readonly ConfigMap[], platform: Platform): ReleaseKeys {
  const trusted = items.filter(({ metadata }) => metadata.annotations?.[keyringsAnnotation] !== undefined);
  return {
    // One that is marked and names no key is a mistake, and no way to have nothing verified.
    required: platform === 'openshift' || trusted.length > 0,
    keyrings: trusted.flatMap(({ data }) => keyringsOf(data ?? {})),
    signatures: signaturesIn(items),
  };
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

/**
 * Judges a release as the cluster-version operator does, by what it carries and what the cluster has already.
 *
 * @param carried signatures that travel with the release; undefined where they could not be read.
 * @param now milliseconds since the epoch.
 * @returns undefined where nothing is demanded of releases.
 */
export async function signatureWord(
  keys: ReleaseKeys,
  of: {
    readonly payload: Digest;
    readonly carried: readonly Uint8Array[] | undefined;
    readonly now: number;
  },
): Promise<SignatureWord | undefined> {
  const { payload, carried = [], now } = of;
  if (!keys.required) return undefined;
  if (keys.keyrings.length === 0) {
    return {
      good: false,
      message: `unable to verify ${payload}: this cluster has no release keys, so that every release counts as unverified`,
      next: `The running release brings them, in a ConfigMap with the annotation ${keyringsAnnotation}: look why it is missing or names no key. ${byForce}`,
    };
  }
  const all = [...carried, ...(keys.signatures.get(`sha256-${hexOf(payload)}`) ?? [])];
  const different = [...new Map(all.map((bytes) => [digestOf(bytes), bytes])).values()];
  if (different.length === 0) {
    const wanted = keys.keyrings.map((keyring) => keyring.name).join(', ');
    return {
      good: false,
      message: `It carries no OpenPGP signature, and this cluster verifies releases against ${wanted}`,
      next: bringIt,
    };
  }
  try {
    const good = await verifyRelease(different, keys.keyrings, payload, now);
    const by = good.map(({ keyring, keyId }) => `key ${keyId} of ${keyring}`).join(', ');
    return { good: true, message: `Its OpenPGP signature holds: ${by}` };
  } catch (error) {
    if (!isSluiceError(error, 'SignatureUntrusted', 'InputInvalid', 'InputTooLarge')) throw error;
    return {
      good: false,
      message: `Its OpenPGP signature does not hold: ${error.message}`,
      next: bringIt,
    };
  }
}

const byForce =
  'Force goes through without it (sluice upgrade --force, oc adm upgrade --force), and the history says so.';
const bringIt = `Attach media that carry the signature (sluice bundle build --release-signatures STORE), or put it into a ConfigMap with the label ${signaturesLabel}. ${byForce}`;
