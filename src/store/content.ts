import { SluiceError } from '../errors/error.ts';
import { type Digest, digestAlgorithms, isAnyDigest, isDigestOf, isEmptyDigest } from '../oci/digest.ts';
import { manifestBytesMax, parseManifest } from '../oci/manifest.ts';
import { isRepositoryName, isTag } from '../oci/reference.ts';
import type { ContentSource, RawManifest } from '../oci/source.ts';
import {
  blobData,
  layerLink,
  layersPath,
  repositoriesPath,
  revisionLink,
  revisionsPath,
  tagLink,
  tagsPath,
} from './path.ts';
import { createReferrers } from './referrers.ts';
import { readAhead } from './stream.ts';
import type { Tree, TreeFile } from './tree.ts';

/** What stands in a tree in the filesystem layout of CNCF distribution (`docker/registry/v2/…`). */
export interface TreeContent extends ContentSource {
  /** Names of all repositories, sorted. */
  repositories(): Promise<string[]>;
  /** Bytes of a blob, whatever repository links it; undefined where it is not there. */
  hasBlob(digest: Digest): Promise<number | undefined>;
  /** An open blob for reading at any place, which the caller closes. @param repository that must link it; undefined: any or none. */
  openBlob(repository: string | undefined, digest: Digest): Promise<TreeFile | undefined>;
  /** Whether the repository links this blob or manifest. */
  hasLink(repository: string, kind: 'blob' | 'manifest', digest: Digest): Promise<boolean>;
  /** The digest that a tag names. */
  resolveTag(repository: string, tag: string): Promise<Digest | undefined>;
  /** Digests of the manifests, or of the blobs, that a repository links; unsorted. */
  links(repository: string, kind: 'blob' | 'manifest'): Promise<Digest[]>;
}

const repositoryDepthMax = 64;
/** Directories that are looked at for repositories: on media they may lie inside each other in circles. */
const repositoryDirectoriesMax = 100_000;
const linkBytesMax = 256;
const manifestCacheBytesMax = 8 * 1024 * 1024;

/**
 * Reads as distribution does: a blob is readable in a repository that links it, whoever wrote it there.
 * A blob without bytes stands only under the digest of nothing.
 */
export function treeContent(tree: Tree): TreeContent {
  const manifests = createManifestCache();

  async function readLink(path: string): Promise<Digest | undefined> {
    const file = await tree.open(path);
    if (file === undefined) return undefined;
    try {
      if (file.size > linkBytesMax) return undefined;
      const text = Buffer.from(await file.read(0, file.size))
        .toString('latin1')
        .trim();
      return isAnyDigest(text) ? text : undefined;
    } finally {
      await file.close();
    }
  }

  async function openData(digest: Digest): Promise<TreeFile | undefined> {
    const file = await tree.open(blobData(digest));
    if (file === undefined || file.size > 0 || isEmptyDigest(digest)) return file;
    await file.close();
    return undefined;
  }

  async function readManifestBytes(digest: Digest): Promise<RawManifest | undefined> {
    const cached = manifests.get(digest);
    if (cached !== undefined) return cached;
    const file = await openData(digest);
    if (file === undefined) return undefined;
    let bytes: Uint8Array;
    try {
      if (file.size > manifestBytesMax) {
        throw new SluiceError(
          'InputTooLarge',
          `${tree.label}: the manifest ${digest} has ${file.size} bytes`,
        );
      }
      bytes = await file.read(0, file.size);
    } finally {
      await file.close();
    }
    if (!isDigestOf(digest, bytes)) {
      throw new SluiceError('DigestMismatch', `${tree.label}: the manifest ${digest} has been changed`);
    }
    const raw = { digest, mediaType: parseManifest(bytes).mediaType, bytes };
    manifests.set(raw);
    return raw;
  }

  const content: TreeContent = {
    label: tree.label,

    async manifest(repository, reference) {
      if (!isRepositoryName(repository)) return undefined;
      const digest = isAnyDigest(reference) ? reference : await content.resolveTag(repository, reference);
      if (digest === undefined || !(await content.hasLink(repository, 'manifest', digest))) return undefined;
      return await readManifestBytes(digest);
    },

    async blob(repository, digest, options = {}) {
      const file = await content.openBlob(repository, digest);
      if (file === undefined) return undefined;
      const range = { offset: options.offset ?? 0, end: file.size };
      return {
        size: file.size,
        stream: readAhead(file, range, { label: tree.label, signal: options.signal, reuse: options.reuse }),
        close: () => file.close(),
      };
    },

    async tags(repository) {
      if (!isRepositoryName(repository)) return [];
      const entries = await tree.list(tagsPath(repository));
      return entries
        .filter((entry) => entry.directory && isTag(entry.name))
        .map((entry) => entry.name)
        .sort();
    },

    referrers: (repository, digest) => referrers(repository, digest),

    async repositories() {
      const found: string[] = [];
      let directories = 0;
      const walk = async (name: string, depth: number): Promise<void> => {
        directories += 1;
        if (directories > repositoryDirectoriesMax) {
          throw new SluiceError(
            'InputTooLarge',
            `${tree.label} has more than ${repositoryDirectoriesMax} directories of repositories`,
          );
        }
        const entries = await tree.list(name === '' ? repositoriesPath : `${repositoriesPath}/${name}`);
        if (entries.some((entry) => entry.name === '_manifests' || entry.name === '_layers'))
          found.push(name);
        if (depth >= repositoryDepthMax) return;
        for (const entry of entries) {
          if (!entry.directory || entry.name.startsWith('_')) continue;
          const next = name === '' ? entry.name : `${name}/${entry.name}`;
          if (isRepositoryName(next)) await walk(next, depth + 1);
        }
      };
      await walk('', 0);
      return found.sort();
    },

    async hasBlob(digest) {
      const file = await openData(digest);
      if (file === undefined) return undefined;
      await file.close();
      return file.size;
    },

    async openBlob(repository, digest) {
      if (repository !== undefined) {
        if (!isRepositoryName(repository) || !(await content.hasLink(repository, 'blob', digest)))
          return undefined;
      }
      return await openData(digest);
    },

    async hasLink(repository, kind, digest) {
      const path = kind === 'blob' ? layerLink(repository, digest) : revisionLink(repository, digest);
      return (await readLink(path)) === digest;
    },

    async resolveTag(repository, tag) {
      if (!isRepositoryName(repository) || !isTag(tag)) return undefined;
      return await readLink(tagLink(repository, tag));
    },

    async links(repository, kind) {
      if (!isRepositoryName(repository)) return [];
      const found: Digest[] = [];
      for (const algorithm of digestAlgorithms) {
        const pathOf = kind === 'blob' ? layersPath : revisionsPath;
        const entries = await tree.list(pathOf(repository, algorithm));
        found.push(...entries.map((entry) => `${algorithm}:${entry.name}`).filter(isAnyDigest));
      }
      return found;
    },
  };
  const referrers = createReferrers(content);
  return content;
}

/** The manifests that were read last: their bytes cannot change under their digest. */
function createManifestCache() {
  const kept = new Map<Digest, RawManifest>();
  let bytes = 0;
  return {
    get(digest: Digest): RawManifest | undefined {
      return kept.get(digest);
    },
    set(raw: RawManifest): void {
      if (kept.has(raw.digest)) return;
      kept.set(raw.digest, raw);
      bytes += raw.bytes.length;
      for (const [digest, oldest] of kept) {
        if (bytes <= manifestCacheBytesMax) return;
        kept.delete(digest);
        bytes -= oldest.bytes.length;
      }
    },
  };
}
