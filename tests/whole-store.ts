import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf, isDigest } from '../src/oci/digest.ts';
import { childrenOf, isManifestType, parseManifest } from '../src/oci/manifest.ts';
import { treeContent } from '../src/store/content.ts';
import { directoryTree } from '../src/store/tree.ts';
import { bytesOf } from './content.ts';

/** Everything that can be seen is whole: names lead to manifests, manifests to their parts, bytes to their digests. */
export async function assertWhole(root: string): Promise<void> {
  const content = treeContent(directoryTree(root));
  for (const repository of await content.repositories()) {
    for (const tag of await content.tags(repository)) {
      const digest = await content.resolveTag(repository, tag);
      if (digest !== undefined) {
        assert.ok(
          await content.manifest(repository, digest),
          `${repository}:${tag} names ${digest}, which is not there`,
        );
      }
    }
    for (const digest of await content.links(repository, 'manifest')) {
      const raw = await content.manifest(repository, digest);
      assert.ok(raw, `${repository}@${digest} is linked and not there`);
      const manifest = parseManifest(raw.bytes, raw.mediaType);
      for (const child of childrenOf(manifest)) {
        const found = isManifestType(child.mediaType)
          ? (await content.manifest(repository, child.digest))?.bytes
          : await bytesOf(content, repository, child.digest);
        assert.equal(found?.length, child.size, `${repository}@${digest} names ${child.digest}`);
      }
    }
    for (const digest of await content.links(repository, 'blob')) {
      assert.equal(digestOf(await bytesOf(content, repository, digest)), digest);
    }
  }
  for (const path of await readdir(root, { recursive: true })) {
    const name = path.split('/').at(-1);
    if (!path.startsWith('docker/') || (name !== 'data' && name !== 'link')) continue;
    const bytes = await readFile(join(root, path));
    if (name === 'data') assert.equal(digestOf(bytes), `sha256:${path.split('/').at(-2)}`, path);
    else assert.ok(isDigest(bytes.toString()), path);
  }
}
