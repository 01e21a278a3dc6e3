import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { buildImage } from '../build/image.ts';
import { createLayoutWriter, type Layout, type LayoutWriter, openLayout } from '../oci/layout.ts';
import { type Descriptor, mediaTypes } from '../oci/manifest.ts';
import { type ClosureItem, imageClosure } from './closure.ts';

let directory: string;
let writer: LayoutWriter;
let layout: Layout;
let image: Descriptor;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-closure-'));
  writer = await createLayoutWriter(directory);
  image = await buildImage({ out: { directory, reference: 'x' }, files: [{ path: '/x', data: 'x' }] });
  layout = await openLayout(directory);
});
after(() => rm(directory, { recursive: true }));

const index = (manifests: object[]) =>
  writer.manifest({ schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests }, mediaTypes.ociIndex);

async function walk(root: Descriptor, size?: number): Promise<ClosureItem[]> {
  const items: ClosureItem[] = [];
  const start = {
    image: 'i',
    repository: 'r',
    digest: root.digest,
    tags: ['t'],
    ...(size === undefined ? {} : { size }),
  };
  for await (const item of imageClosure(layout, start, new Set(), undefined)) items.push(item);
  return items;
}

test('M12 indexes in indexes are followed, and what two of them share appears once', async () => {
  const attestation = { ...(await writer.blob(Buffer.from('{"x":1}'), 'application/vnd.in-toto+json')) };
  const inner = await index([image, attestation]);
  const items = await walk(await index([inner, image]));
  assert.deepEqual(
    items.map((item) => item.kind),
    ['blob', 'blob', 'manifest', 'blob', 'manifest', 'manifest'],
  );
  assert.deepEqual(
    items.map((item) => item.tags.length),
    [0, 0, 0, 0, 0, 1],
  );
});

test('M12 indexes that are nested too deep, or name too much, are refused', async () => {
  let deep = image;
  for (let depth = 0; depth < 10; depth += 1) deep = await index([deep]);
  await assert.rejects(walk(deep), { code: 'InputTooLarge', message: /nested/ });
  const many = Array.from({ length: 101 }, (_, at) => ({ ...image, annotations: { at: `${at}` } }));
  const wide = await Promise.all(
    Array.from({ length: 100 }, (_, at) => index([...many, { ...image, annotations: { wide: `${at}` } }])),
  );
  await assert.rejects(walk(await index(wide)), { code: 'InputTooLarge', message: /parts/ });
});

test('M10 a manifest of another size than its parent says is refused', async () => {
  await assert.rejects(walk(await index([{ ...image, size: image.size + 1 }])), {
    code: 'DigestMismatch',
    message: /not \d+/,
  });
  await assert.rejects(walk(image, image.size - 1), { code: 'DigestMismatch' });
});

test('a child that is not there is missing content, by its digest', async () => {
  const gone = { ...image, digest: `sha256:${'0'.repeat(64)}` as const };
  await assert.rejects(walk(await index([gone])), { code: 'ContentMissing', message: /image i.*0000/ });
});
