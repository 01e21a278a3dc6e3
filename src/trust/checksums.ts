import { createPrivateKey, sign, verify } from 'node:crypto';
import { SluiceError } from '../errors/error.ts';
import type { TrustedKey } from './keys.ts';

// A list of files as sha256sum writes it, with a signature beside it that openssl verifies: what a machine that has
// nothing else can check a disk with.

/** Files of one list. */
const filesMax = 10_000;
const lineForm = /^([0-9a-f]{64}) [ *](.+)$/;

/** The text of a list, sorted by name. @param files name → SHA-256 in hexadecimal */
export function formatChecksums(files: ReadonlyMap<string, string>): string {
  const names = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  return names.map(([name, sha256]) => `${sha256}  ${name}\n`).join('');
}

/** Errors: InputInvalid. */
export function parseChecksums(text: string, where: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, sha256, name] = lineForm.exec(line) ?? [];
    if (sha256 === undefined || name === undefined || files.has(name) || files.size >= filesMax) {
      throw new SluiceError('InputInvalid', `${where} is no list of checksums`);
    }
    files.set(name, sha256);
  }
  return files;
}

/** ECDSA over SHA-256, DER: `openssl dgst -sha256 -verify sluice.pub -signature SHA256SUMS.sig SHA256SUMS`. */
export function signBytes(bytes: Uint8Array, privatePem: string): Uint8Array {
  return sign('sha256', bytes, createPrivateKey(privatePem));
}

/** The trusted key that made the signature; undefined where none did. */
export function signerOf(
  bytes: Uint8Array,
  signature: Uint8Array,
  keys: readonly TrustedKey[],
): TrustedKey | undefined {
  return keys.find((key) => verify('sha256', bytes, key.publicPem, signature));
}
