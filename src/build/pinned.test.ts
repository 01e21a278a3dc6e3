import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { testKey } from '../../tests/bundles.ts';
import { buildBundle } from './bundle.ts';
import { buildImage } from './image.ts';
import { buildPayload } from './payload.ts';

const key = testKey();
const included = 'include.release.openshift.io/self-managed-high-availability: "true"';
let dir: string;
let sidecar: { source: string; digest: string };
let web: { source: string; digest: string };
let count = 0;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-pinned-'));
  sidecar = await image('images', 'sidecar');
  web = await image('images', 'web');
});
after(() => rm(dir, { recursive: true, force: true }));

async function image(layout: string, reference: string) {
  const directory = join(dir, layout);
  const { digest } = await buildImage({
    out: { directory, reference },
    files: [{ path: '/name', data: reference }],
  });
  return { source: `oci:${directory}:${reference}`, digest };
}

function deployment(name: string, images: readonly string[], annotations = included): string {
  const containers = images.map((each, index) => `      - {name: c${index}, image: '${each}'}`).join('\n');
  return `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, namespace: demo, annotations: {${annotations}}}
spec:
  template:
    spec:
      containers:
${containers}
`;
}

/** A payload with one image `web` and these manifests. */
async function payloadWith(files: Record<string, string>, layout = `payload-${count + 1}`) {
  count += 1;
  const manifests = join(dir, `manifests-${count}`);
  await mkdir(manifests, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(manifests, name), text);
  const tag = { name: 'web', from: { kind: 'DockerImage', name: 'images.example/demo/web' } };
  const stream = { kind: 'ImageStream', apiVersion: 'image.openshift.io/v1', spec: { tags: [tag] } };
  await writeFile(join(manifests, 'image-references'), JSON.stringify(stream));
  const out = { directory: join(dir, layout), reference: 'p' };
  const built = await buildPayload({
    version: '1.1.0',
    previous: [],
    manifests: [manifests],
    images: new Map([['web', web.source]]),
    out,
    scratch: join(dir, 'scratch'),
  });
  return { ...built, source: `oci:${out.directory}:p` };
}

async function bundle(payload: string, more: Readonly<Record<string, string>> = {}) {
  const out = join(dir, `bundle-${count}-${Object.keys(more).length}`);
  const images = new Map([['web', web.source], ...Object.entries(more)]);
  const { document } = await buildBundle({ payload, images, privatePem: key.pair.privatePem, out });
  return document.images.map(({ role, source, digest }) => `${role} ${source}@${digest}`);
}

test('an image by digest that is none of the payload is told where the payload is built, with who needs it', async () => {
  const named = `sidecars.example/demo/sidecar@${sidecar.digest}`;
  const { foreign } = await payloadWith({
    'a.yaml': deployment('web', ['images.example/demo/web', named]),
    // Never run: an object that updates take away, and one that no cluster takes.
    'b.yaml': deployment('old', [named], `${included}, release.openshift.io/delete: "true"`),
    'c.yaml': deployment('nowhere', [named], 'include.release.openshift.io/no-such: "true"'),
  });
  assert.deepEqual(foreign, [
    { image: named, of: `Deployment demo/web (${join(dir, `manifests-${count}`)}/a.yaml)` },
  ]);
});

test('a bundle that would lack it is not built: image, object and file are named, and nothing is written', async () => {
  const named = `sidecars.example/demo/sidecar@${sidecar.digest}`;
  const check = `apiVersion: batch/v1
kind: Job
metadata: {name: look, annotations: {openshift.io/preflight-check: "true"}}
spec: {template: {spec: {containers: [{name: c, image: 'checks.example/look@${sidecar.digest}'}]}}}
`;
  const { source } = await payloadWith({ 'a.yaml': deployment('web', [named]), 'b.yaml': check });
  await assert.rejects(bundle(source), (error: Error & { code?: string; next?: string }) => {
    assert.equal(error.code, 'ReferenceUnresolved');
    assert.match(error.message, new RegExp(`${named} of Deployment demo/web \\(0000_50_[^)]*a\\.yaml\\)`));
    assert.match(error.message, /checks\.example\/look@sha256:[0-9a-f]{64} of Job look/);
    assert.match(error.next ?? '', /--image REPOSITORY@DIGEST=SOURCE/);
    return true;
  });
  assert.equal(existsSync(join(dir, `bundle-${count}-0`, 'docker')), false);
  // Given for one name, the same content serves under the other too: the mirror set leads there by either.
  const built = await bundle(source, { [named]: sidecar.source });
  assert.ok(built.includes(`additional sidecars.example/demo/sidecar@${sidecar.digest}`), built.join('\n'));
  assert.ok(built.includes(`additional checks.example/look@${sidecar.digest}`), built.join('\n'));
  assert.match(built.at(-1) ?? '', /^payload /);
});

test('what no cluster runs needs no image', async () => {
  const named = `sidecars.example/demo/sidecar@${sidecar.digest}`;
  const { source } = await payloadWith({
    'a.yaml': deployment('web', ['images.example/demo/web']),
    'b.yaml': deployment('old', [named], `${included}, release.openshift.io/delete: "true"`),
    'c.yaml': deployment('nowhere', [named], 'include.release.openshift.io/no-such: "true"'),
  });
  assert.ok((await bundle(source)).every((each) => !each.includes('sidecars.example')));
});

test('content of a component under another name is taken from there', async () => {
  const { source } = await payloadWith({
    'a.yaml': deployment('web', [`elsewhere.example/web@${web.digest}`]),
  });
  const built = await bundle(source);
  assert.ok(built.includes(`additional elsewhere.example/web@${web.digest}`), built.join('\n'));
});

test('what lies at the place of the payload is taken from there', async () => {
  const beside = await image('beside', 'beside');
  const { source } = await payloadWith(
    { 'a.yaml': deployment('web', [`elsewhere.example/beside@${beside.digest}`]) },
    'beside',
  );
  const built = await bundle(source);
  assert.ok(built.includes(`additional elsewhere.example/beside@${beside.digest}`), built.join('\n'));
});
