import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { imageOf } from '../../tests/content.ts';
import { createLayoutWriter, openLayout } from '../oci/layout.ts';
import { type Descriptor, mediaTypes } from '../oci/manifest.ts';
import { anyConfig } from './config.ts';

test('M12 the configuration of an image is found through indexes in indexes, of whatever platform there is', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-config-'));
  t.after(() => rm(directory, { recursive: true }));
  const writer = await createLayoutWriter(directory);
  const image = async (os: string, architecture: string): Promise<Descriptor> => {
    const { raw, blobs } = imageOf([Buffer.from(`${os} ${architecture}`)], {
      architecture,
      labels: { is: `${os}/${architecture}` },
    });
    for (const bytes of blobs.values()) await writer.blob(bytes, 'application/octet-stream');
    return { ...(await writer.manifest(raw.bytes, raw.mediaType)), platform: { os, architecture } };
  };
  const index = (...manifests: Descriptor[]) =>
    writer.manifest({ schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests }, mediaTypes.ociIndex);
  const arm = await index(await image('linux', 'arm64'));
  const amd = await index(await image('linux', 'amd64'));
  const windows = await index(await image('windows', 'amd64'));
  const artifact = { ...(await image('linux', 'amd64')), artifactType: 'application/x' };
  const { platform: _, ...unnamed } = artifact;
  const content = await openLayout(directory);
  const found = async (of: Descriptor, platform?: string) =>
    (await anyConfig(content, 'any', of.digest, platform))?.labels.is;
  assert.equal(await found(await index(arm), 'linux/amd64'), 'linux/arm64', 'what there is');
  // None of the two says for what it is.
  const both = await index(arm, amd);
  assert.equal(await found(both, 'linux/amd64'), 'linux/amd64');
  assert.equal(await found(both, 'linux/arm64'), 'linux/arm64');
  assert.equal(await found(windows, 'linux/amd64'), 'windows/amd64');
  assert.equal(await found(await index(unnamed)), undefined, 'an index of artifacts has no image');
});
