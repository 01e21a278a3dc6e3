import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeRelease, type TestRelease, testKey } from '../../tests/bundles.ts';
import { openLayout } from '../oci/layout.ts';
import { buildBundle } from './bundle.ts';
import { jsonDocuments } from './catalog.ts';
import { buildImage, type ImageFile } from './image.ts';

const key = testKey();
const catalogName = 'registry.example/catalogs/mine:v1';
const label = 'operators.operatorframework.io.index.configs.v1';
let dir: string;
let release: TestRelease;
let operator: string;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-catalog-'));
  release = await makeRelease({ version: '1.0.0', dir, key: key.pair });
  operator = `registry.example/operators/web@${release.document.images.find((each) => each.name === 'web')?.digest}`;
});

after(() => rm(dir, { recursive: true, force: true }));

const bundleOf = (image: string, ...related: string[]) =>
  JSON.stringify({
    schema: 'olm.bundle',
    name: 'web-operator.v1.2.0',
    image,
    relatedImages: related.map((each) => ({ name: 'x', image: each })),
  });

let layouts = 0;

async function catalog(files: readonly ImageFile[]): Promise<string> {
  layouts += 1;
  const directory = join(dir, `catalog-${layouts}`);
  await buildImage({
    out: { directory, reference: 'c' },
    files,
    config: { labels: { [label]: '/configs' } },
  });
  return `oci:${directory}:c`;
}

const build = (source: string, more: Readonly<Record<string, string>> = {}) =>
  buildBundle({
    payload: release.payloadSource,
    images: new Map([...release.sources, [catalogName, source], ...Object.entries(more)]),
    roles: new Map([[catalogName, 'catalog' as const]]),
    privatePem: key.pair.privatePem,
    out: join(dir, `bundle-${layouts}-${Object.keys(more).length}`),
  });

test('every image that the operators of a catalog name must come along', async () => {
  const files = [
    { path: '/configs/web/package.json', data: '{"schema":"olm.package","name":"web"}' },
    {
      path: '/configs/web/bundles.json',
      data: `${bundleOf(operator, operator)}\n${JSON.stringify({ schema: 'olm.channel' })}`,
    },
    { path: '/configs/README.md', data: 'not a catalog' },
  ];
  const source = await catalog(files);
  await assert.rejects(build(source), {
    code: 'ReferenceUnresolved',
    message: /registry\.example\/operators\/web@sha256:[0-9a-f]{64} \(web-operator\.v1\.2\.0\)/,
  });
  const built = await build(source, { [operator]: release.sources.get('web') ?? '' });
  const roles = built.document.images.map(({ role, source: from }) => `${role} ${from}`);
  assert.ok(roles.includes('catalog registry.example/catalogs/mine'), roles.join());
  assert.ok(roles.some((each) => each.endsWith(' registry.example/operators/web')));
});

test('a catalog in YAML is read too; one that names by tag, and what is no catalog, are refused', async () => {
  const yaml = `---\nschema: olm.bundle\nname: a.v1\nimage: ${operator}\n`;
  await assert.rejects(build(await catalog([{ path: '/configs/a/catalog.yaml', data: yaml }])), {
    code: 'ReferenceUnresolved',
  });
  const byTag = bundleOf('registry.example/operators/web:latest');
  await assert.rejects(build(await catalog([{ path: '/configs/a.json', data: byTag }])), {
    code: 'InputInvalid',
    message: /by tag/,
  });
  const directory = join(dir, 'plain');
  await buildImage({ out: { directory, reference: 'c' }, files: [{ path: '/x', data: 'x' }] });
  await assert.rejects(build(`oci:${directory}:c`), {
    code: 'InputInvalid',
    message: /no file-based catalog: it has no label/,
  });
});

test('what a later layer hides of a catalog is no part of it, however it hides it', async () => {
  // Read, it would be refused.
  const old = { path: '/configs/old/a.json', data: bundleOf('registry.example/operators/old:latest') };
  const fresh = { path: '/configs/web/a.json', data: bundleOf(operator) };
  const over = async (...files: ImageFile[]) => {
    layouts += 1;
    const directory = join(dir, `catalog-${layouts}`);
    const below = await buildImage({ out: { directory, reference: 'below' }, files: [old] });
    await buildImage({
      out: { directory, reference: 'c' },
      base: { content: await openLayout(directory), repository: 'any', digest: below.digest },
      files,
      config: { labels: { [label]: '/configs' } },
    });
    return `oci:${directory}:c`;
  };
  const more = { [operator]: release.sources.get('web') ?? '' };
  await assert.rejects(build(await over(fresh), more), { code: 'InputInvalid', message: /by tag/ });
  for (const hides of [
    '/configs/old/.wh.a.json',
    '/configs/old/.wh..wh..opq',
    '/configs/.wh.old',
    '/configs/.wh..wh..opq',
    '/.wh.configs',
    '/.wh..wh..opq',
  ]) {
    const built = await build(await over({ path: hides, data: '' }, fresh), more);
    const found = built.document.images.filter(
      (each) => each.role === 'operator' || each.role === 'additional',
    );
    assert.equal(found.length, 1, hides);
  }
});

test('JSON texts one after another are told apart, braces and quotes in them too', () => {
  const one = { a: '}{"\\', b: { c: [] } };
  const text = `${JSON.stringify(one)}\n\n ${JSON.stringify({ d: 1 }, null, 2)}`;
  assert.deepEqual([...jsonDocuments(text, 'x')], [one, { d: 1 }]);
  assert.deepEqual([...jsonDocuments('', 'x')], []);
  for (const bad of ['{', '{"a":}', '{} x', 'x']) {
    assert.throws(() => [...jsonDocuments(bad, 'x')], { code: 'InputInvalid' });
  }
});
