import { createPrivateKey, randomBytes, scryptSync } from 'node:crypto';
import { SluiceError } from '../errors/error.ts';
import { openSecretbox, sealSecretbox } from './secretbox.ts';

// Private keys as cosign writes them: PEM around a JSON document that holds the key's PKCS#8 form, encrypted with a
// password (scrypt, then NaCl's secretbox).
// https://github.com/sigstore/sigstore/blob/main/pkg/cryptoutils and github.com/theupdateframework/go-tuf/encrypted

/** What the PEM block is called: today, and before cosign 2. */
const pemTypes = ['ENCRYPTED SIGSTORE PRIVATE KEY', 'ENCRYPTED COSIGN PRIVATE KEY'] as const;
const [pemType] = pemTypes;
/** Bytes of memory that a key file may ask scrypt for: cosign's own take 64 MiB. */
const scryptBytesMax = 256 * 1024 * 1024;
const scryptParallelMax = 16;
/** What cosign writes today. */
const scryptCost = { N: 65_536, r: 8, p: 1 } as const;
const keyBytes = 32;

/** Whether a file is such a key. */
export function isEncryptedKey(pem: string): boolean {
  return pemTypes.some((type) => pem.includes(`-----BEGIN ${type}-----`));
}

/**
 * The key in PKCS#8 PEM. Errors: InputInvalid where the file is damaged; Unauthorized where the password is another.
 *
 * @param name of the file, for messages.
 */
export function decryptKey(pem: string, password: string, name: string): string {
  const { kdf, cipher, ciphertext } = parse(pem, name);
  const { N, r, p } = kdf.params;
  const memory = 128 * N * r;
  const isSane = [N, r, p].every((each) => Number.isSafeInteger(each) && each > 0) && (N & (N - 1)) === 0;
  if (!isSane || memory > scryptBytesMax || p > scryptParallelMax) {
    throw damaged(name, `it asks scrypt for N=${N}, r=${r}, p=${p}`);
  }
  const key = scryptSync(password, bytesOf(kdf.salt), keyBytes, { N, r, p, maxmem: 2 * memory });
  const der = openSecretbox(bytesOf(ciphertext), bytesOf(cipher.nonce), key);
  if (der === undefined) {
    throw new SluiceError('Unauthorized', `the password does not open the key ${name}`, {
      next: 'Give the right one in COSIGN_PASSWORD, or in a file: --key-password-file FILE.',
    });
  }
  try {
    return createPrivateKey({ key: Buffer.from(der), format: 'der', type: 'pkcs8' })
      .export({ type: 'pkcs8', format: 'pem' })
      .toString();
  } catch (error) {
    throw new SluiceError('InputInvalid', `what ${name} holds is no private key in PKCS#8`, { cause: error });
  }
}

/** The form in which cosign takes a key. @param privatePem PKCS#8, not encrypted. */
export function encryptKey(privatePem: string, password: string): string {
  const der = createPrivateKey(privatePem).export({ type: 'pkcs8', format: 'der' });
  const [salt, nonce] = [randomBytes(32), randomBytes(24)];
  const key = scryptSync(password, salt, keyBytes, { ...scryptCost, maxmem: scryptBytesMax });
  const document = {
    kdf: { name: 'scrypt', params: scryptCost, salt: salt.toString('base64') },
    cipher: { name: 'nacl/secretbox', nonce: nonce.toString('base64') },
    ciphertext: Buffer.from(sealSecretbox(der, nonce, key)).toString('base64'),
  };
  const body = Buffer.from(JSON.stringify(document)).toString('base64').replace(/.{64}/g, '$&\n');
  return `-----BEGIN ${pemType}-----\n${body.trimEnd()}\n-----END ${pemType}-----\n`;
}

interface Encrypted {
  readonly kdf: { readonly params: { N: number; r: number; p: number }; readonly salt: string };
  readonly cipher: { readonly nonce: string };
  readonly ciphertext: string;
}

function parse(pem: string, name: string): Encrypted {
  const body = /-----BEGIN ([A-Z ]+)-----\n([A-Za-z0-9+/=\s]+)-----END \1-----/.exec(pem)?.[2];
  let document: Record<string, Record<string, unknown>>;
  try {
    document = JSON.parse(bytesOf(body ?? '').toString('utf8')) as typeof document;
  } catch (cause) {
    throw new SluiceError('InputInvalid', `the key ${name} is damaged`, { cause });
  }
  const { kdf, cipher, ciphertext } = document ?? {};
  const params = kdf?.params as Encrypted['kdf']['params'] | undefined;
  if (kdf?.name !== 'scrypt' || cipher?.name !== 'nacl/secretbox') {
    throw damaged(name, `it is encrypted with ${String(kdf?.name)} and ${String(cipher?.name)}`);
  }
  if (typeof kdf.salt !== 'string' || typeof cipher.nonce !== 'string' || typeof ciphertext !== 'string') {
    throw damaged(name, 'salt, nonce or ciphertext are missing');
  }
  const { N = 0, r = 0, p = 0 } = params ?? {};
  return { kdf: { params: { N, r, p }, salt: kdf.salt }, cipher: { nonce: cipher.nonce }, ciphertext };
}

function bytesOf(base64: string): Buffer {
  return Buffer.from(base64, 'base64');
}

function damaged(name: string, what: string): SluiceError {
  return new SluiceError('InputInvalid', `the key ${name} cannot be used: ${what.slice(0, 200)}`);
}
