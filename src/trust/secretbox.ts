import { timingSafeEqual } from 'node:crypto';

// NaCl's secretbox (XSalsa20 and Poly1305, https://nacl.cr.yp.to/secretbox.html), which node:crypto does not have. For
// key files of a few hundred bytes: neither fast, nor free of timing, and never used on what comes over a network.

const nonceBytes = 24;
const keyBytes = 32;
const tagBytes = 16;
/** `expand 32-byte k`, as four little-endian words. */
const sigma = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const;

/** The text, or undefined where key or ciphertext are not what they should be. */
export function openSecretbox(box: Uint8Array, nonce: Uint8Array, key: Uint8Array): Uint8Array | undefined {
  if (nonce.length !== nonceBytes || key.length !== keyBytes || box.length < tagBytes) return undefined;
  const sealed = box.subarray(tagBytes);
  const stream = xsalsa20(nonce, key, keyBytes + sealed.length);
  const tag = poly1305(sealed, stream.subarray(0, keyBytes));
  if (!timingSafeEqual(tag, box.subarray(0, tagBytes))) return undefined;
  return xor(sealed, stream.subarray(keyBytes));
}

/** @param nonce 24 bytes that are used once under this key. */
export function sealSecretbox(text: Uint8Array, nonce: Uint8Array, key: Uint8Array): Uint8Array {
  if (nonce.length !== nonceBytes || key.length !== keyBytes) throw new RangeError('a nonce or key is cut');
  const stream = xsalsa20(nonce, key, keyBytes + text.length);
  const sealed = xor(text, stream.subarray(keyBytes));
  return Buffer.concat([poly1305(sealed, stream.subarray(0, keyBytes)), sealed]);
}

function xor(bytes: Uint8Array, stream: Uint8Array): Uint8Array {
  return bytes.map((byte, index) => byte ^ (stream[index] ?? 0));
}

function xsalsa20(nonce: Uint8Array, key: Uint8Array, length: number): Uint8Array {
  const first = words(nonce.subarray(0, 16));
  const inner = rounds(stateOf(words(key), first));
  const subkey = [0, 5, 10, 15, 6, 7, 8, 9].map((index) => inner[index] ?? 0);
  const rest = words(nonce.subarray(16));
  const out = Buffer.alloc(Math.ceil(length / 64) * 64);
  for (let block = 0; block * 64 < length; block += 1) {
    const state = stateOf(subkey, [...rest, block, 0]);
    for (const [index, word] of rounds(state).entries()) {
      out.writeUInt32LE((word + (state[index] ?? 0)) >>> 0, block * 64 + index * 4);
    }
  }
  return out.subarray(0, length);
}

function words(bytes: Uint8Array): number[] {
  const buffer = Buffer.from(bytes);
  return Array.from({ length: buffer.length / 4 }, (_, index) => buffer.readUInt32LE(index * 4));
}

/** Salsa20's matrix: constants on the diagonal, key, and input in between. */
function stateOf(key: readonly number[], input: readonly number[]): Uint32Array {
  return Uint32Array.from([
    sigma[0],
    ...key.slice(0, 4),
    sigma[1],
    ...input.slice(0, 4),
    sigma[2],
    ...key.slice(4, 8),
    sigma[3],
  ]);
}

/** Four quarter rounds, of columns and then of rows (Salsa20 specification, sections 4 and 5). */
const quarters = [
  [0, 4, 8, 12],
  [5, 9, 13, 1],
  [10, 14, 2, 6],
  [15, 3, 7, 11],
  [0, 1, 2, 3],
  [5, 6, 7, 4],
  [10, 11, 8, 9],
  [15, 12, 13, 14],
] as const;

function rounds(state: Uint32Array): Uint32Array {
  const x = Uint32Array.from(state);
  const mix = (to: number, a: number, b: number, by: number) => {
    const sum = ((x[a] ?? 0) + (x[b] ?? 0)) >>> 0;
    x[to] = (x[to] ?? 0) ^ ((sum << by) | (sum >>> (32 - by)));
  };
  for (let round = 0; round < 10; round += 1) {
    for (const [a, b, c, d] of quarters) {
      mix(b, a, d, 7);
      mix(c, b, a, 9);
      mix(d, c, b, 13);
      mix(a, d, c, 18);
    }
  }
  return x;
}

const prime = 2n ** 130n - 5n;
const clamp = 0x0ffffffc0ffffffc0ffffffc0fffffffn;

/** RFC 8439, section 2.5. */
function poly1305(message: Uint8Array, key: Uint8Array): Uint8Array {
  const r = littleEndian(key.subarray(0, 16)) & clamp;
  let sum = 0n;
  for (let at = 0; at < message.length; at += 16) {
    const block = message.subarray(at, at + 16);
    sum = ((sum + littleEndian(block) + 2n ** BigInt(8 * block.length)) * r) % prime;
  }
  sum = (sum + littleEndian(key.subarray(16, 32))) % 2n ** 128n;
  return Buffer.from(sum.toString(16).padStart(2 * tagBytes, '0'), 'hex').reverse();
}

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex') || '0'}`);
}
