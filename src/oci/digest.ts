import { createHash } from 'node:crypto';
import { SluiceError } from '../errors/error.ts';

/** A content digest as the OCI image specification writes it (descriptor.md, "Digests"). */
export type Digest = `sha256:${string}`;

/** Of no bytes at all: the only digest under which an empty blob may stand (facts, M6). */
export const emptyDigest: Digest = 'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

const sha256Form = /^sha256:[0-9a-f]{64}$/;

/** Errors: DigestInvalid, also for algorithms that the specification knows and Sluice does not read. */
export function parseDigest(text: string): Digest {
  if (isDigest(text)) return text;
  if (/^sha512:[0-9a-f]{128}$/.test(text)) {
    throw new SluiceError('DigestInvalid', `the digest ${text.slice(0, 20)}… uses sha512`, {
      next: 'Only sha256 digests are read: publish the content under its sha256 digest.',
    });
  }
  throw new SluiceError('DigestInvalid', `"${text.slice(0, 90)}" is not a digest`);
}

/** Whether `text` is a sha256 digest. Upper-case hexadecimal is not (image-spec, descriptor.md). */
export function isDigest(text: string): text is Digest {
  return sha256Form.test(text);
}

/** The digest of these exact bytes. */
export function digestOf(bytes: Uint8Array): Digest {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** The 64 hexadecimal digits. */
export function hexOf(digest: Digest): string {
  return digest.slice('sha256:'.length);
}

/** The tag under which tools without the referrers API keep what belongs to `digest` (distribution-spec, "Referrers Tag Schema"). */
export function referrersTag(digest: Digest): string {
  return `sha256-${hexOf(digest)}`;
}
