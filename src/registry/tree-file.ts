import { readFile, stat } from 'node:fs/promises';
import { SluiceError, systemCode } from '../errors/error.ts';
import { type Digest, isDigest } from '../oci/digest.ts';
import { parseStrictJson } from '../oci/json.ts';

/** One line of `trees.json`. */
export type TreeEntry =
  | { readonly kind: 'store'; readonly path: string }
  | { readonly kind: 'media'; readonly path: string; readonly bundleDigest: Digest }
  | { readonly kind: 'peer'; readonly url: string; readonly bundleDigest: Digest };

const fileBytesMax = 1024 * 1024;
const entriesMax = 256;

/** Reads `trees.json`; undefined where there is none. Errors: InputInvalid, InputTooLarge. */
export async function readTreeFile(path: string): Promise<readonly TreeEntry[] | undefined> {
  let bytes: Buffer;
  try {
    if ((await stat(path)).size > fileBytesMax)
      throw new SluiceError('InputTooLarge', `${path} is too large`);
    bytes = await readFile(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  const document = parseStrictJson(bytes, path);
  if (!Array.isArray(document) || document.length > entriesMax) {
    throw new SluiceError('InputInvalid', `${path} must be a list of at most ${entriesMax} trees`);
  }
  return document.map((entry, index) => parseEntry(entry, `${path}: [${index}]`));
}

function parseEntry(value: unknown, where: string): TreeEntry {
  const entry = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const { kind, path, url, bundleDigest } = entry;
  if (kind === 'store' && isPath(path)) return { kind, path };
  if (typeof bundleDigest === 'string' && isDigest(bundleDigest)) {
    if (kind === 'media' && isPath(path)) return { kind, path, bundleDigest };
    if (kind === 'peer' && typeof url === 'string' && URL.parse(url)?.protocol === 'https:') {
      return { kind, url, bundleDigest };
    }
  }
  throw new SluiceError('InputInvalid', `${where} is neither a store, nor media, nor a peer`);
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith('/');
}
