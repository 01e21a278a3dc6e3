import { algorithmOf, type Digest, type DigestAlgorithm, hexOf } from '../oci/digest.ts';

/**
 * Paths of the filesystem layout of CNCF distribution (registry/storage/paths.go there), relative to the root
 * that holds `docker/registry/v2`.
 */
export const layoutRoot = 'docker/registry/v2';
export const repositoriesPath = `${layoutRoot}/repositories`;

/** Holds the blobs of one algorithm, by the first two digits. */
export function blobsPath(algorithm: DigestAlgorithm): string {
  return `${layoutRoot}/blobs/${algorithm}`;
}

export function blobDirectory(digest: Digest): string {
  const hex = hexOf(digest);
  return `${blobsPath(algorithmOf(digest))}/${hex.slice(0, 2)}/${hex}`;
}

export function blobData(digest: Digest): string {
  return `${blobDirectory(digest)}/data`;
}

/** Holds one directory per layer that the repository links. */
export function layersPath(repository: string, algorithm: DigestAlgorithm = 'sha256'): string {
  return `${repositoriesPath}/${repository}/_layers/${algorithm}`;
}

/** Holds one directory per manifest of the repository. */
export function revisionsPath(repository: string, algorithm: DigestAlgorithm = 'sha256'): string {
  return `${repositoriesPath}/${repository}/_manifests/revisions/${algorithm}`;
}

/** Holds one directory per tag. */
export function tagsPath(repository: string): string {
  return `${repositoriesPath}/${repository}/_manifests/tags`;
}

export function layerLink(repository: string, digest: Digest): string {
  return `${layersPath(repository, algorithmOf(digest))}/${hexOf(digest)}/link`;
}

export function revisionLink(repository: string, digest: Digest): string {
  return `${revisionsPath(repository, algorithmOf(digest))}/${hexOf(digest)}/link`;
}

export function tagLink(repository: string, tag: string): string {
  return `${tagsPath(repository)}/${tag}/current/link`;
}
