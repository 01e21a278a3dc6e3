// @peculiar/x509 needs the metadata polyfill before it is loaded; this module alone uses it, and who needs
// certificates imports this module lazily, so that the other commands do not pay for it.
import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';
import { SluiceError } from '../errors/error.ts';

x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]);

const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const dayMs = 24 * 60 * 60 * 1000;

/** Certificates are valid from this long before they are made: clocks of disconnected nodes differ. */
export const backdateMs = dayMs;
/** Validity of an authority and of what it issues where nothing else is asked, in days. */
export const validityDaysDefault = 3650;

/** A certificate and its private key, both PEM (key: unencrypted PKCS#8). */
export interface KeyPair {
  readonly certPem: string;
  readonly keyPem: string;
}

export interface LeafOptions {
  /** On Kubernetes the user name of a client certificate. */
  readonly commonName: string;
  /** On Kubernetes the groups of a client certificate. */
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly usage: 'server' | 'client' | 'both';
  readonly days?: number;
  /** The present in Unix milliseconds; default: the system clock. */
  readonly now?: number;
}

/** Makes a self-signed certificate authority (P-256) that may sign leaves only. */
export async function createAuthority(
  commonName: string,
  options: { days?: number; now?: number } = {},
): Promise<KeyPair> {
  const keys = await generateKeys();
  const now = options.now ?? Date.now();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [commonName] }],
    notBefore: new Date(now - backdateMs),
    notAfter: new Date(now + (options.days ?? validityDaysDefault) * dayMs),
    signingAlgorithm: keyAlgorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return pair(certificate, keys);
}

/** Issues a leaf certificate with a key of its own. Errors: InputInvalid (authority, addresses). */
export async function issue(authority: KeyPair, leaf: LeafOptions): Promise<KeyPair> {
  const issuer = readAuthority(authority);
  const signingKey = await importPrivateKey(authority.keyPem);
  const keys = await generateKeys();
  const now = leaf.now ?? Date.now();
  const wanted = now + (leaf.days ?? validityDaysDefault) * dayMs;
  const organizations = (leaf.organizations ?? []).map((organization) => ({ O: [organization] }));
  const name: x509.JsonName = [...organizations, { CN: [leaf.commonName] }];
  const usages: string[] = [];
  if (leaf.usage !== 'client') usages.push(x509.ExtendedKeyUsage.serverAuth);
  if (leaf.usage !== 'server') usages.push(x509.ExtendedKeyUsage.clientAuth);
  const extensions: x509.Extension[] = [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension(usages),
    await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
  ];
  const alternatives = alternativeNames(leaf);
  if (alternatives.length > 0) extensions.push(new x509.SubjectAlternativeNameExtension(alternatives));
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: name,
    issuer: issuer.subjectName,
    notBefore: new Date(now - backdateMs),
    // A leaf that outlives its authority would fail at a date that nobody looks at.
    notAfter: new Date(Math.min(wanted, issuer.notAfter.getTime())),
    signingAlgorithm: keyAlgorithm,
    publicKey: keys.publicKey,
    signingKey,
    extensions,
  });
  return pair(certificate, keys);
}

function alternativeNames(leaf: LeafOptions): x509.JsonGeneralName[] {
  const names: x509.JsonGeneralName[] = [];
  for (const value of leaf.dnsNames ?? []) names.push({ type: 'dns', value });
  for (const value of leaf.ipAddresses ?? []) {
    if (isIP(value) === 0) throw new SluiceError('InputInvalid', `${value} is not an IP address`);
    names.push({ type: 'ip', value });
  }
  return names;
}

function readAuthority(authority: KeyPair): x509.X509Certificate {
  try {
    return new x509.X509Certificate(authority.certPem);
  } catch (error) {
    throw new SluiceError('InputInvalid', 'the certificate of the authority is not X.509 PEM', {
      cause: error,
    });
  }
}

async function importPrivateKey(pem: string): Promise<webcrypto.CryptoKey> {
  try {
    const der = x509.PemConverter.decodeFirst(pem);
    return await webcrypto.subtle.importKey('pkcs8', der, keyAlgorithm, false, ['sign']);
  } catch (error) {
    throw new SluiceError('InputInvalid', 'the key of the authority is not a PKCS#8 P-256 PEM', {
      cause: error,
    });
  }
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(keyAlgorithm, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
}

async function pair(certificate: x509.X509Certificate, keys: webcrypto.CryptoKeyPair): Promise<KeyPair> {
  const der = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    certPem: `${certificate.toString('pem').trimEnd()}\n`,
    keyPem: `${x509.PemConverter.encode(der, 'PRIVATE KEY').trimEnd()}\n`,
  };
}

/** 127 random bits: positive, and never two the same (RFC 5280 section 4.1.2.2). */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01;
  return bytes.toString('hex');
}
