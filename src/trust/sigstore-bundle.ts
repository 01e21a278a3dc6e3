import { verify } from 'node:crypto';
import { SluiceError } from '../errors/error.ts';
import type { TrustedKey } from './keys.ts';

// The form in which cosign 3 signs by default: a document of its own among the referrers, a DSSE envelope around an
// in-toto statement that names the signed digest. Certificates and transparency logs may stand beside; a trusted key
// needs neither.
// https://github.com/sigstore/cosign/blob/main/specs/BUNDLE_SPEC.md, https://github.com/secure-systems-lab/dsse

export const sigstoreBundleType = 'application/vnd.dev.sigstore.bundle.v0.3+json';

const statementPayloadType = 'application/vnd.in-toto+json';
const statementTypes = ['https://in-toto.io/Statement/v1', 'https://in-toto.io/Statement/v0.1'];
/** What a signature without any further claim says. Attestations say other things, and are no signatures. */
const signPredicateType = 'https://sigstore.dev/cosign/sign/v1';
const subjectsMax = 64;
const signaturesMax = 16;

/** What such a document says; nobody has verified it. */
export interface SigstoreStatement {
  /** `sha256:…` of what it is about. */
  readonly digests: readonly string[];
  /** The bytes that are signed. */
  readonly signed: Uint8Array;
  readonly signatures: readonly Uint8Array[];
}

/** Undefined where the document is no signature but an attestation. Errors: InputInvalid. */
export function readSigstoreBundle(bytes: Uint8Array): SigstoreStatement | undefined {
  const envelope = member(parse(bytes, 'the signature'), 'dsseEnvelope');
  const [payloadType, payload] = [member(envelope, 'payloadType'), member(envelope, 'payload')];
  const signatures = member(envelope, 'signatures');
  if (typeof payload !== 'string' || !Array.isArray(signatures) || signatures.length > signaturesMax)
    throw invalid('it holds no signed statement');
  if (payloadType !== statementPayloadType) return undefined;
  const body = Buffer.from(payload, 'base64');
  const statement = parse(body, 'the signed statement');
  const type = member(statement, '_type');
  if (member(statement, 'predicateType') !== signPredicateType) return undefined;
  const subjects = member(statement, 'subject');
  if (!statementTypes.some((known) => known === type)) throw invalid('its statement is of another type');
  if (!Array.isArray(subjects) || subjects.length > subjectsMax) throw invalid('it is about nothing');
  const digests = subjects.flatMap((subject: unknown) => {
    const hex = member(member(subject, 'digest'), 'sha256');
    return typeof hex === 'string' && /^[0-9a-f]{64}$/.test(hex) ? [`sha256:${hex}`] : [];
  });
  return {
    digests,
    signed: preAuthentication(statementPayloadType, body),
    signatures: signatures.map((each: unknown) => Buffer.from(String(member(each, 'sig') ?? ''), 'base64')),
  };
}

/** The first trusted key that made one of the signatures; undefined where none did. */
export function signerOf(statement: SigstoreStatement, keys: readonly TrustedKey[]): TrustedKey | undefined {
  return keys.find((key) =>
    statement.signatures.some((signature) => verify('sha256', statement.signed, key.publicPem, signature)),
  );
}

/** DSSE, "Protocol": PAE(type, body). */
function preAuthentication(type: string, body: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${body.length} `), body]);
}

function parse(bytes: Uint8Array, what: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new SluiceError('InputInvalid', `${what} is not JSON`, { cause });
  }
}

function member(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}

function invalid(what: string): SluiceError {
  return new SluiceError('InputInvalid', `a signature in sigstore's form cannot be used: ${what}`);
}
