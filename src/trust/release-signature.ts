import { messageOf, SluiceError } from '../errors/error.ts';

// OpenShift's release signatures: OpenPGP signed messages (RFC 9580, section 11.3; neither detached nor clear text)
// whose content is a small JSON document that names a release by its digest ("atomic container signature"). The
// rules are those of library-go's pkg/verify, by which the cluster-version operator judges.

/** Bytes of one signature; real ones have under 1000. */
export const releaseSignatureBytesMax = 64 * 1024;
/**
 * A store numbers its signatures from 1, and library-go reads nine of each: so many travel with a release. Of those that
 * come from several places it leaves none out, since nine that do not hold would hide the one that does.
 */
export const releaseSignaturesMax = 9;
/** Different signatures of one release that are looked at, wherever they come from: each costs a verification. */
const lookedAtMax = 256;
/** Why signatures do not count, in one message. */
const reasonsMax = 9;
const keyringBytesMax = 1024 * 1024;
const messageBytesMax = 64 * 1024;
const claimType = 'atomic container signature';
const keyringPrefix = 'verifier-public-key-';

/** Keys of which one must have signed. Each keyring of a cluster must be satisfied. */
export interface ReleaseKeyring {
  /** As messages show it: `verifier-public-key-redhat`. */
  readonly name: string;
  /** OpenPGP public keys, armoured or binary. */
  readonly keys: string | Uint8Array;
}

/** A signature that holds. */
export interface ReleaseSignature {
  /** As it was given. */
  readonly signature: Uint8Array;
  /** Id of the key that made it, 16 hexadecimal digits. */
  readonly keyId: string;
  /** Keyring that knows the key. */
  readonly keyring: string;
  /** Where the release stood when it was signed. */
  readonly dockerReference: string;
}

/** The keyrings in the ConfigMap by which a release payload tells a cluster whom to believe. */
export function keyringsOf(data: Readonly<Record<string, string>>): ReleaseKeyring[] {
  const names = Object.keys(data)
    .filter((name) => name.startsWith(keyringPrefix))
    .sort();
  return names.map((name) => ({ name, keys: data[name] ?? '' }));
}

/**
 * Whether a release is signed as every keyring demands: for each of them one of the signatures must be good.
 *
 * @param digest of the release payload. @param now milliseconds since the epoch.
 * @returns one signature for each keyring. Errors: SignatureMissing (no signatures, or no keyrings),
 *   SignatureUntrusted (names the keyrings, the keys of the signatures and why each does not count), InputInvalid.
 */
export async function verifyRelease(
  signatures: readonly Uint8Array[],
  keyrings: readonly ReleaseKeyring[],
  digest: string,
  now: number,
): Promise<ReleaseSignature[]> {
  if (keyrings.length === 0) {
    throw new SluiceError(
      'SignatureMissing',
      `unable to verify ${digest}: there is no keyring to verify it against`,
    );
  }
  if (signatures.length === 0)
    throw new SluiceError('SignatureMissing', `the release ${digest} carries no OpenPGP signature`);
  const good: ReleaseSignature[] = [];
  const failed: string[] = [];
  for (const keyring of keyrings) {
    const reasons: string[] = [];
    const found = await firstGood(signatures, keyring, { digest, now, reasons });
    if (found === undefined) failed.push(`${keyring.name} (${inShort(reasons)})`);
    else good.push(found);
  }
  if (failed.length === 0) return good;
  // The words that people search for; the cluster-version operator uses them too.
  throw new SluiceError(
    'SignatureUntrusted',
    `unable to verify ${digest} against keyrings: ${failed.join(', ')}`,
    {
      next: 'Bring the signature of this very release, or the public key of its maker, if you trust it.',
    },
  );
}

/** Why signatures do not count, each reason once. */
function inShort(reasons: readonly string[]): string {
  const different = [...new Set(reasons)];
  const more = different.length - reasonsMax;
  return [...different.slice(0, reasonsMax), ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

async function firstGood(
  signatures: readonly Uint8Array[],
  keyring: ReleaseKeyring,
  context: { digest: string; now: number; reasons: string[] },
): Promise<ReleaseSignature | undefined> {
  for (const signature of signatures.slice(0, lookedAtMax)) {
    try {
      const { keyId, content } = await openSigned(signature, keyring, context.now);
      const dockerReference = readClaim(content, context.digest);
      return { signature, keyId, keyring: keyring.name, dockerReference };
    } catch (error) {
      if (!(error instanceof SluiceError) || error.code === 'InputTooLarge') throw error;
      context.reasons.push(error.message);
    }
  }
  return undefined;
}

/**
 * The content of a signed message, once it is read to its end *and* a known, unexpired key's signature over it holds:
 * an OpenPGP library knows that only after the last byte. Errors: SignatureUntrusted, InputInvalid.
 */
async function openSigned(
  signature: Uint8Array,
  keyring: ReleaseKeyring,
  now: number,
): Promise<{ keyId: string; content: Uint8Array }> {
  if (signature.length > releaseSignatureBytesMax) {
    throw new SluiceError('InputInvalid', `a signature has ${signature.length} bytes`);
  }
  const openpgp = await import('openpgp');
  const verificationKeys = await readKeyring(keyring);
  const config = { maxDecompressedMessageSize: messageBytesMax };
  const message = await openpgp
    .readMessage({ binaryMessage: signature, config })
    .catch((cause: unknown): never => {
      throw new SluiceError('InputInvalid', `a signature is no OpenPGP message: ${messageOf(cause)}`, {
        cause,
      });
    });
  const { data, signatures } = await openpgp
    .verify({ message, verificationKeys, format: 'binary', date: new Date(now), config })
    .catch((cause: unknown): never => {
      throw new SluiceError('SignatureUntrusted', `a signature cannot be verified: ${messageOf(cause)}`, {
        cause,
      });
    });
  if (signatures.length === 0) throw new SluiceError('SignatureUntrusted', 'the message is not signed');
  const reasons: string[] = [];
  for (const each of signatures) {
    const keyId = each.keyID.toHex().toUpperCase();
    try {
      await each.verified;
      return { keyId, content: data };
    } catch (error) {
      reasons.push(`key ${keyId}: ${messageOf(error)}`);
    }
  }
  throw new SluiceError('SignatureUntrusted', reasons.join('; '));
}

async function readKeyring({ name, keys }: ReleaseKeyring) {
  if (keys.length > keyringBytesMax)
    throw new SluiceError('InputTooLarge', `the keyring ${name} has ${keys.length} bytes`);
  const openpgp = await import('openpgp');
  const text = typeof keys === 'string' ? keys : Buffer.from(keys).toString('latin1');
  const read = text.includes('-----BEGIN PGP')
    ? openpgp.readKeys({ armoredKeys: text })
    : openpgp.readKeys({ binaryKeys: typeof keys === 'string' ? Buffer.from(keys, 'latin1') : keys });
  return await read.catch((cause: unknown): never => {
    throw new SluiceError('InputInvalid', `the keyring ${name} cannot be read: ${messageOf(cause)}`, {
      cause,
    });
  });
}

/**
 * What a signed message says, held against the release that was asked for: a good signature of another release proves
 * nothing about this one. Fields that are not known are refused. Errors: InputInvalid, SignatureUntrusted.
 *
 * @returns where the release stood when it was signed.
 */
export function readClaim(content: Uint8Array, digest: string): string {
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(content));
  } catch (cause) {
    throw new SluiceError('InputInvalid', 'the signed message is not JSON', { cause });
  }
  const { critical, optional = {} } = fields(document, 'the message', ['critical', 'optional']);
  const { type, image, identity } = fields(critical, 'critical', ['type', 'image', 'identity']);
  const { 'docker-manifest-digest': signed } = fields(image, 'critical.image', ['docker-manifest-digest']);
  const { 'docker-reference': reference } = fields(identity, 'critical.identity', ['docker-reference']);
  fields(optional ?? {}, 'optional', ['creator', 'timestamp']);
  if (type !== claimType)
    throw new SluiceError('InputInvalid', `the signed message is of the type ${JSON.stringify(type)}`);
  if (typeof reference !== 'string' || reference === '') {
    throw new SluiceError('InputInvalid', 'the signed message does not say what it was signed as');
  }
  if (signed === digest) return reference;
  throw new SluiceError('SignatureUntrusted', `the signature is for ${String(signed).slice(0, 100)}`);
}

function fields(value: unknown, where: string, known: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SluiceError('InputInvalid', `the signed message cannot be used: ${where} is not an object`);
  }
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown === undefined) return value as Record<string, unknown>;
  throw new SluiceError(
    'InputInvalid',
    `the signed message has the unknown field ${where}.${unknown.slice(0, 50)}`,
  );
}
