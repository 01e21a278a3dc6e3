import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { SluiceError, systemCode } from '../errors/error.ts';

/** Bytes of one key file; a P-256 key has under 300. */
const keyBytesMax = 64 * 1024;
/** Trusted keys of one node or cluster. */
const trustedKeysMax = 256;
/** Hexadecimal digits of a key id: enough to tell keys apart in a message. */
const keyIdLength = 16;

export const publicKeySuffix = '.pub';

/** A public key whose signatures are accepted. */
export interface TrustedKey {
  /** First 16 hexadecimal digits of `fingerprint`, for messages. */
  readonly id: string;
  /** SHA-256 of the key's SubjectPublicKeyInfo (DER), 64 hexadecimal digits: what people compare. */
  readonly fingerprint: string;
  /** File or ConfigMap key that it came from, without `.pub`. */
  readonly name: string;
  /** SubjectPublicKeyInfo, PEM. */
  readonly publicPem: string;
}

export interface SigningKeyPair {
  /** Unencrypted PKCS#8, P-256, PEM. */
  readonly privatePem: string;
  /** SubjectPublicKeyInfo, PEM. */
  readonly publicPem: string;
}

/** Makes a new key to sign bundles with. */
export function generateSigningKey(): SigningKeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

/** Reads a public key as it is trusted. Errors: InputInvalid where it is not a P-256 key in SPKI PEM. */
export function parseTrustedKey(name: string, pem: string): TrustedKey {
  if (pem.length > keyBytesMax) throw new SluiceError('InputTooLarge', `key ${name} has more than 64 KiB`);
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem)) {
    throw new SluiceError('InputInvalid', `key ${name} is a private key, and a public one is needed here`, {
      next: 'Give the public key beside it: sluice.pub of sluice bundle keygen, cosign.pub of cosign. The private key stays with whoever signs.',
    });
  }
  const next = 'Give sluice.pub of sluice bundle keygen, or cosign.pub of cosign.';
  // createPublicKey also takes a certificate.
  if (!pem.includes('-----BEGIN PUBLIC KEY-----')) {
    throw new SluiceError(
      'InputInvalid',
      `key ${name} is not a public key in PEM: it holds no PUBLIC KEY block`,
      { next },
    );
  }
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch (cause) {
    throw new SluiceError('InputInvalid', `key ${name} is not a public key in PEM: its block is damaged`, {
      cause,
      next,
    });
  }
  requireP256(key, name);
  const der = key.export({ type: 'spki', format: 'der' });
  const fingerprint = createHash('sha256').update(der).digest('hex');
  return {
    id: fingerprint.slice(0, keyIdLength),
    fingerprint,
    name,
    publicPem: key.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

/** The public half of a private signing key. Errors: InputInvalid. */
export function publicKeyOf(privatePem: string, name: string): TrustedKey {
  const key = parsePrivateKey(privatePem, name);
  const pem = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
  return parseTrustedKey(name, pem);
}

/** Reads a private signing key. Errors: InputInvalid where it is not an unencrypted P-256 key in PKCS#8 PEM. */
export function parsePrivateKey(privatePem: string, name: string): KeyObject {
  if (privatePem.includes('-----BEGIN PUBLIC KEY-----')) {
    throw new SluiceError('InputInvalid', `${name} is a public key, and signing needs the private one`, {
      next: 'Give the private key beside it: sluice.key of sluice bundle keygen, cosign.key of cosign.',
    });
  }
  let key: KeyObject;
  try {
    key = createPrivateKey(privatePem);
  } catch (cause) {
    throw new SluiceError('InputInvalid', `${name} is not an unencrypted private key in PEM`, {
      cause,
      next: 'Give sluice.key; make one with: sluice bundle keygen --out DIR',
    });
  }
  requireP256(key, name);
  return key;
}

/**
 * Trusted keys of a directory (`*.pub`; a missing directory holds none) or of named texts (a ConfigMap's data),
 * sorted by name; other names are passed over. The same key under two names counts once.
 *
 * @param onInvalid is told of a key that cannot be read, which is then left out; without it that is an error,
 *   so that a caller chooses by what it writes: one damaged key must not lock out the others of a node.
 */
export async function loadTrustedKeys(
  source: string | Readonly<Record<string, string>>,
  onInvalid?: (name: string, error: SluiceError) => void,
): Promise<TrustedKey[]> {
  const entries = typeof source === 'string' ? await readKeyDirectory(source) : Object.entries(source);
  const keys = new Map<string, TrustedKey>();
  for (const [name, pem] of entries.sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!name.endsWith(publicKeySuffix)) continue;
    try {
      const key = parseTrustedKey(basename(name, publicKeySuffix), pem);
      if (!keys.has(key.fingerprint)) keys.set(key.fingerprint, key);
    } catch (error) {
      if (onInvalid === undefined || !(error instanceof SluiceError)) throw error;
      onInvalid(name, error);
    }
    if (keys.size > trustedKeysMax) {
      throw new SluiceError('InputTooLarge', `more than ${trustedKeysMax} trusted keys`);
    }
  }
  return [...keys.values()];
}

/** Keys in the words of messages: `release (0123456789abcdef), …`. */
export function describeKeys(keys: readonly TrustedKey[]): string {
  return keys.length === 0 ? 'none' : keys.map((key) => `${key.name} (${key.id})`).join(', ');
}

function requireP256(key: KeyObject, name: string): void {
  const curve = key.asymmetricKeyDetails?.namedCurve;
  if (key.asymmetricKeyType !== 'ec' || curve !== 'prime256v1') {
    const kind = [key.asymmetricKeyType ?? 'unknown', curve].filter((word) => word !== undefined).join(' ');
    throw new SluiceError(
      'InputInvalid',
      `key ${name} is of the kind ${kind}; bundles are signed with P-256`,
    );
  }
}

async function readKeyDirectory(directory: string): Promise<[string, string][]> {
  let names: string[];
  try {
    names = await readdir(directory);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
  const wanted = names.filter((name) => name.endsWith(publicKeySuffix));
  return await Promise.all(
    wanted.map(
      async (name): Promise<[string, string]> => [name, await readFile(join(directory, name), 'utf8')],
    ),
  );
}
