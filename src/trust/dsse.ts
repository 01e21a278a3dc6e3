import { sign, verify } from 'node:crypto';
import { messageOf, SluiceError } from '../errors/error.ts';
import { describeKeys, parsePrivateKey, publicKeyOf, type TrustedKey } from './keys.ts';

/** Bytes of one envelope: what it holds is read whole before it is believed. */
export const envelopeBytesMax = 8 * 1024 * 1024;
const signaturesMax = 16;

/** Payload type of in-toto statements, which cosign verifies too. */
export const inTotoPayloadType = 'application/vnd.in-toto+json';

/** What an envelope held, once a trusted key was found to have signed it. */
export interface OpenedEnvelope {
  readonly payloadType: string;
  readonly body: Buffer;
  readonly signedBy: TrustedKey;
}

/**
 * A signed envelope (DSSE, github.com/secure-systems-lab/dsse) as JSON text.
 *
 * @param privatePem unencrypted PKCS#8, P-256.
 */
export function signEnvelope(payloadType: string, body: Uint8Array, privatePem: string): string {
  const key = parsePrivateKey(privatePem, 'the signing key');
  const sig = sign('sha256', preAuthenticationEncoding(payloadType, body), key).toString('base64');
  const { fingerprint: keyid } = publicKeyOf(privatePem, 'the signing key');
  const payload = Buffer.from(body).toString('base64');
  return `${JSON.stringify({ payloadType, payload, signatures: [{ keyid, sig }] }, null, 2)}\n`;
}

/**
 * What an envelope holds. Nothing of the body is looked at before one of the keys is found to have signed it; the
 * key ids in it are hints that nobody has to believe, so they are not read.
 *
 * Errors: InputTooLarge, InputInvalid, SignatureMissing, SignatureUntrusted.
 */
export function openEnvelope(text: string, keys: readonly TrustedKey[]): OpenedEnvelope {
  const { payloadType, body, signatures } = parseEnvelope(text);
  if (signatures.length === 0) throw new SluiceError('SignatureMissing', 'the envelope carries no signature');
  const signed = preAuthenticationEncoding(payloadType, body);
  for (const signature of signatures) {
    const signedBy = keys.find((key) => verify('sha256', signed, key.publicPem, signature));
    if (signedBy !== undefined) return { payloadType, body, signedBy };
  }
  throw new SluiceError('SignatureUntrusted', `none of the given keys signed it: ${describeKeys(keys)}`, {
    next: 'Either it was changed after it was signed, or another key made it.',
  });
}

/** The bytes that are signed (DSSE protocol, section "Signature definition"). */
function preAuthenticationEncoding(payloadType: string, body: Uint8Array): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${body.length} `;
  return Buffer.concat([Buffer.from(head), body]);
}

function parseEnvelope(text: string): { payloadType: string; body: Buffer; signatures: Buffer[] } {
  if (Buffer.byteLength(text) > envelopeBytesMax) {
    throw new SluiceError('InputTooLarge', `an envelope has ${envelopeBytesMax} bytes at most`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new SluiceError('InputInvalid', `it is no signed envelope: ${messageOf(error)}`, { cause: error });
  }
  const { payloadType, payload, signatures } = (value ?? {}) as Record<string, unknown>;
  if (typeof payloadType !== 'string' || typeof payload !== 'string' || !Array.isArray(signatures)) {
    throw new SluiceError(
      'InputInvalid',
      'it is no signed envelope: payloadType, payload or signatures is missing',
    );
  }
  if (signatures.length > signaturesMax) {
    throw new SluiceError('InputTooLarge', `an envelope has ${signaturesMax} signatures at most`);
  }
  const sigs = signatures.map((each) => (each as { sig?: unknown } | null)?.sig);
  return { payloadType, body: bytesOf(payload), signatures: sigs.map(bytesOf) };
}

/** Buffer.from(…, 'base64') skips what is not base64, so that several texts would mean the same. */
function bytesOf(text: unknown): Buffer {
  const bytes = typeof text === 'string' ? Buffer.from(text, 'base64') : undefined;
  if (bytes === undefined || bytes.toString('base64') !== text) {
    throw new SluiceError('InputInvalid', 'the envelope holds something that is not base64');
  }
  return bytes;
}
