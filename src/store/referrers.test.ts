import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Digest, digestOf } from '../oci/digest.ts';
import { mediaTypes } from '../oci/manifest.ts';
import { type TreeContent, treeContent } from './content.ts';
import { createReferrers } from './referrers.ts';
import type { Tree } from './tree.ts';

test('who refers to a manifest is looked for within limits', async () => {
  const subject = { mediaType: mediaTypes.ociManifest, digest: digestOf(Buffer.from('subject')), size: 7 };
  const manifests = new Map<Digest, Buffer>();
  for (let at = 0; at < 10; at += 1) {
    const bytes = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        config: subject,
        layers: [],
        subject,
        annotations: { at: `${at}` },
      }),
    );
    manifests.set(digestOf(bytes), bytes);
  }
  const content = {
    label: 'a medium',
    links: async () => [...manifests.keys()],
    hasLink: async () => false,
    async manifest(_: string, digest: Digest) {
      const bytes = manifests.get(digest);
      return bytes && { digest, mediaType: mediaTypes.ociManifest, bytes };
    },
  } as unknown as TreeContent;
  const ask = (limits: { manifestsMax: number; bytesMax: number }) =>
    createReferrers(content, limits)('r', subject.digest);
  assert.equal((await ask({ manifestsMax: 10, bytesMax: 10_000 })).length, 10);
  await assert.rejects(ask({ manifestsMax: 9, bytesMax: 10_000 }), { code: 'InputTooLarge' });
  await assert.rejects(ask({ manifestsMax: 10, bytesMax: 1000 }), { code: 'InputTooLarge' });
});

test('repositories that lie inside each other in circles are given up', async () => {
  const tree: Tree = {
    label: 'a medium',
    open: async () => undefined,
    list: async () => [
      { name: 'a', directory: true },
      { name: 'b', directory: true },
    ],
    close: async () => {},
  };
  await assert.rejects(treeContent(tree).repositories(), { code: 'InputTooLarge' });
});
