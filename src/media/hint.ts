import { SluiceError } from '../errors/error.ts';
import { type Digest, isDigest } from '../oci/digest.ts';
import { parseStrictJson } from '../oci/json.ts';
import type { Tree } from '../store/tree.ts';

/** The file in the root of media by which they are known. */
export const hintFile = 'sluice-media.json';
/** Label of the volumes that are written: it fits every file system, and says nothing that must be trusted. */
export const volumeLabel = 'SLUICE';

const formatVersion = 1;
const hintBytesMax = 256 * 1024;
const bundlesMax = 256;
const nameLengthMax = 256;

/** What media say of themselves: never trusted, only a place to look first. */
export interface MediaHint {
  readonly bundles: readonly { readonly name: string; readonly digest: Digest }[];
}

/** The bytes of `sluice-media.json`: the same bundles always give the same bytes. */
export function formatHint(hint: MediaHint): Uint8Array {
  const bundles = [...hint.bundles].sort((a, b) => (a.name < b.name ? -1 : 1));
  const ordered = bundles.map(({ name, digest }) => ({ name, digest }));
  return Buffer.from(`${JSON.stringify({ formatVersion, bundles: ordered }, null, 2)}\n`, 'utf8');
}

/** Errors: InputInvalid, InputTooLarge. */
export function parseHint(bytes: Uint8Array): MediaHint {
  if (bytes.length > hintBytesMax)
    throw new SluiceError('InputTooLarge', `${hintFile} has ${bytes.length} bytes`);
  const document = parseStrictJson(bytes, hintFile);
  const { formatVersion: version, bundles } = (document ?? {}) as Record<string, unknown>;
  if (version !== formatVersion || !Array.isArray(bundles) || bundles.length > bundlesMax) {
    throw new SluiceError('InputInvalid', `${hintFile} is not of format ${formatVersion}`);
  }
  return {
    bundles: bundles.map((value: unknown) => {
      const { name, digest } = (value ?? {}) as Record<string, unknown>;
      if (typeof name !== 'string' || name.length > nameLengthMax)
        throw new SluiceError('InputInvalid', hintFile);
      if (typeof digest !== 'string' || !isDigest(digest)) throw new SluiceError('InputInvalid', hintFile);
      return { name, digest };
    }),
  };
}

/** The bytes of the hint of a tree; undefined where it has none. Errors: InputTooLarge, MediaLost. */
export async function readHintBytes(tree: Tree): Promise<Uint8Array | undefined> {
  const file = await tree.open(hintFile);
  if (file === undefined) return undefined;
  try {
    if (file.size > hintBytesMax)
      throw new SluiceError('InputTooLarge', `${hintFile} has ${file.size} bytes`);
    return await file.read(0, file.size);
  } finally {
    await file.close();
  }
}
