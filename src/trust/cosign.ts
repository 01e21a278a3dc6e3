import { sign, verify } from 'node:crypto';
import { SluiceError } from '../errors/error.ts';
import { parsePrivateKey, type TrustedKey } from './keys.ts';

// The key format of cosign ("simple signing"): a manifest whose layers are small JSON documents that name the
// signed digest, each with its signature as an annotation. It stands under the tag `sha256-<hex>.sig` of the
// signed image's repository, and, with a `subject`, among its referrers.
// https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md

export const simpleSigningMediaType = 'application/vnd.dev.cosign.simplesigning.v1+json';
export const signatureAnnotation = 'dev.cosignproject.cosign/signature';
/** Artifact type of a signature manifest that has a `subject` (cosign's OCI 1.1 mode). */
export const signatureArtifactType = 'application/vnd.dev.cosign.artifact.sig.v1+json';
/** Says which key made a signature: a hint for messages, written by whoever made it, never trusted. */
export const keyIdAnnotation = 'sluice.dev/key-id';

const payloadType = 'cosign container image signature';
/** Bytes of one signed document; those in the wild have about 250. */
export const simpleSigningBytesMax = 64 * 1024;
/** Characters of a base64 signature; a P-256 one has 96. */
const signatureLengthMax = 4096;

/** What a signature says, once it is known that a trusted key said it. */
export interface SignedClaim {
  readonly key: TrustedKey;
  /** `sha256:…` of the manifest that was signed. */
  readonly digest: string;
  /** Where it stood when it was signed: `[host/]repository`, maybe with a tag. */
  readonly dockerReference: string;
}

/** The tag of the signatures of a manifest: `sha256-<hex>.sig`. */
export function signatureTag(digest: string): string {
  return `${digest.replace(':', '-')}.sig`;
}

/**
 * Signs the digest of a manifest.
 *
 * @returns the document that is signed, and its signature (ECDSA over SHA-256, DER) in base64.
 */
export function signManifest(options: { privatePem: string; dockerReference: string; digest: string }): {
  payload: Uint8Array;
  signatureBase64: string;
} {
  const document = {
    critical: {
      identity: { 'docker-reference': options.dockerReference },
      image: { 'docker-manifest-digest': options.digest },
      type: payloadType,
    },
    optional: null,
  };
  const payload = Buffer.from(JSON.stringify(document), 'utf8');
  const key = parsePrivateKey(options.privatePem, 'the signing key');
  return { payload, signatureBase64: sign('sha256', payload, key).toString('base64') };
}

/** The first key that made this signature over exactly these bytes; undefined where none did. */
export function verifySignature(
  payload: Uint8Array,
  signatureBase64: string,
  keys: readonly TrustedKey[],
): TrustedKey | undefined {
  if (payload.length > simpleSigningBytesMax || signatureBase64.length > signatureLengthMax) return undefined;
  // Buffer.from(…, 'base64') skips what is not base64, so several texts would mean one signature.
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(signatureBase64)) return undefined;
  const signature = Buffer.from(signatureBase64, 'base64');
  if (signature.toString('base64') !== signatureBase64) return undefined;
  return keys.find((key) => verify('sha256', payload, key.publicPem, signature));
}

/**
 * Whether a trusted key says that `digest` is its own. The signature is checked over the raw bytes before they
 * are parsed, and what was signed is compared with what was asked for: a good signature of another release
 * proves nothing about this one.
 *
 * @returns undefined where no trusted key made the signature. Errors: InputInvalid, DigestMismatch where a
 *   trusted key signed something else.
 */
export function verifyClaim(
  payload: Uint8Array,
  signatureBase64: string,
  keys: readonly TrustedKey[],
  digest: string,
): SignedClaim | undefined {
  const key = verifySignature(payload, signatureBase64, keys);
  if (key === undefined) return undefined;
  const critical = readCritical(payload);
  if (critical.digest !== digest) {
    throw new SluiceError('DigestMismatch', `the signature is for ${critical.digest}, not for ${digest}`);
  }
  return { key, digest: critical.digest, dockerReference: critical.dockerReference };
}

/** The digest that a signed document names, whoever signed it. Errors: InputInvalid. */
export function signedDigest(payload: Uint8Array): string {
  return readCritical(payload).digest;
}

function readCritical(payload: Uint8Array): { digest: string; dockerReference: string } {
  let document: unknown;
  try {
    document = JSON.parse(Buffer.from(payload).toString('utf8'));
  } catch (error) {
    throw new SluiceError('InputInvalid', 'the signed document is not JSON', { cause: error });
  }
  const critical = member(document, 'critical');
  const type = member(critical, 'type');
  const digest = member(member(critical, 'image'), 'docker-manifest-digest');
  const dockerReference = member(member(critical, 'identity'), 'docker-reference');
  if (type !== payloadType) {
    throw new SluiceError('InputInvalid', `the signed document is of the type ${JSON.stringify(type)}`);
  }
  if (typeof digest !== 'string' || typeof dockerReference !== 'string' || dockerReference === '') {
    throw new SluiceError('InputInvalid', 'the signed document names no digest or no reference');
  }
  return { digest, dockerReference };
}

function member(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}
