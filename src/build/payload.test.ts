import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { needs, repository, sharedData } from '../../tests/tier.ts';
import { isSluiceError } from '../errors/error.ts';
import { openLayout } from '../oci/layout.ts';
import { type Payload, readPayload } from '../payload/payload.ts';
import { parseImageReferences } from '../payload/references.ts';
import { runOrThrow } from '../process/run.ts';
import { buildImage } from './image.ts';
import { type BuildPayloadOptions, buildPayload, repositoryDefault } from './payload.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-build-payload-'));
});
after(() => rm(directory, { recursive: true }));

async function image(tag: string, labels: Record<string, string> = {}): Promise<string> {
  const out = { directory: join(directory, 'images'), reference: tag };
  await buildImage({ out, files: [{ path: '/name', data: tag }], config: { labels } });
  return `oci:${out.directory}:${tag}`;
}

async function operator(name: string, files: Record<string, string>): Promise<string> {
  const path = join(directory, 'operators', name);
  await mkdir(path, { recursive: true });
  for (const [file, text] of Object.entries(files)) await writeFile(join(path, file), text);
  return path;
}

const stream = (tags: Record<string, string>) =>
  JSON.stringify({
    kind: 'ImageStream',
    apiVersion: 'image.openshift.io/v1',
    spec: {
      tags: Object.entries(tags).map(([name, spec]) => ({ name, from: { kind: 'DockerImage', name: spec } })),
    },
  });

let count = 0;
async function build(
  options: Partial<BuildPayloadOptions> & Pick<BuildPayloadOptions, 'manifests' | 'images'>,
): Promise<Payload> {
  count += 1;
  const out = { directory: join(directory, `payload-${count}`), reference: 'p' };
  const scratch = join(directory, 'scratch');
  const { descriptor } = await buildPayload({
    version: '1.1.0',
    previous: ['1.0.0'],
    out,
    scratch,
    ...options,
  });
  return await readPayload(await openLayout(out.directory), 'any', descriptor.digest);
}

const fileOf = (payload: Payload, name: string) => Buffer.from(payload.files.get(name) ?? []).toString();

test('images become pull specs by digest, files get their run level, versions are filled in', async () => {
  const manifests = [
    await operator('web', {
      'image-references': stream({
        web: 'images.example/ns/web',
        helper: 'placeholder.url.oc.will.replace.this.org/placeholdernamespace:helper',
      }),
      '01-deployment.yaml':
        'apiVersion: v1\nkind: Pod\nmetadata: {name: w}\nspec:\n  image: images.example/ns/web:latest\n  args: ["--h=placeholder.url.oc.will.replace.this.org/placeholdernamespace:helper", "0.0.1-snapshot", "0.0.1-snapshot-kubernetes"]\n',
      '0000_10_web_first.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: w}\n',
      'README.md': 'not in the payload',
    }),
  ];
  const images = new Map([
    ['web', await image('web', { 'io.openshift.build.versions': 'kubernetes=1.35.2' })],
    ['helper', await image('helper')],
  ]);
  const payload = await build({ manifests, images });
  assert.deepEqual(
    payload.manifests.map((each) => each.file),
    ['0000_10_web_first.yaml', '0000_50_web_01-deployment.yaml'],
  );
  assert.equal(payload.kubernetesVersion, '1.35.2');
  const web = payload.images.get('web');
  const helper = payload.images.get('helper');
  assert.equal(web?.repository, 'images.example/ns/web');
  assert.equal(helper?.repository, repositoryDefault);
  const text = fileOf(payload, '0000_50_web_01-deployment.yaml');
  assert.ok(text.includes(`image: ${web?.reference}\n`), text);
  assert.ok(text.includes(`["--h=${helper?.reference}", "1.1.0", "1.35.2"]`), text);
  assert.deepEqual(payload.previous, ['1.0.0']);
});

test('names that are taken gain a number before their ending', async () => {
  const namespace = (name: string) => `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}}\n`;
  const manifests = [
    await operator('one', { '0000_30_same_a.yaml': namespace('a') }),
    await operator('two', { '0000_30_same_a.yaml': namespace('b') }),
  ];
  const payload = await build({ manifests, images: new Map() });
  assert.deepEqual(
    payload.manifests.map((each) => [each.file, each.object.metadata.name]),
    [
      ['0000_30_same_a.yaml', 'a'],
      ['0000_30_same_a_1.yaml', 'b'],
    ],
  );
});

test('the same input gives the same digest; previous versions are sorted as versions', async () => {
  const manifests = [
    await operator('same', { 'a.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n' }),
  ];
  const images = new Map([['x', await image('x')]]);
  const previous = ['1.0.10', '1.0.9', '1.0.9'];
  const first = await build({ manifests, images, previous });
  const second = await build({ manifests, images, previous });
  assert.equal(first.digest, second.digest);
  assert.deepEqual(first.previous, ['1.0.9', '1.0.10']);
});

test('an image without a source, an unknown placeholder and bad versions are refused by name', async () => {
  const manifests = [
    await operator('lack', { 'image-references': stream({ gone: 'a.example/gone' }), 'a.yaml': '' }),
  ];
  await assert.rejects(build({ manifests, images: new Map() }), {
    code: 'ReferenceUnresolved',
    message: /gone \(lack\)/,
  });
  const left = [
    await operator('left', {
      'a.yaml': 'image: placeholder.url.oc.will.replace.this.org/placeholdernamespace:z\n',
    }),
  ];
  await assert.rejects(build({ manifests: left, images: new Map() }), {
    code: 'ReferenceUnresolved',
    message: /a\.yaml/,
  });
  await assert.rejects(build({ manifests: left, images: new Map(), version: '1.1' }), { code: 'Usage' });
  await assert.rejects(build({ manifests: left, images: new Map(), previous: ['1.1.0'] }), { code: 'Usage' });
  await assert.rejects(build({ manifests: [join(directory, 'absent')], images: new Map() }), {
    code: 'NotFound',
  });
});

test('a payload on a base keeps what the base has', async () => {
  const base = { directory: join(directory, 'base'), reference: 'b' };
  await buildImage({
    out: base,
    files: [{ path: '/bin/cp', mode: 0o755, data: 'program' }],
    config: { entrypoint: ['/bin/cp'], env: ['A=1'], labels: { from: 'base' } },
  });
  const manifests = [
    await operator('based', { 'a.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n' }),
  ];
  const out = { directory: join(directory, 'based'), reference: 'p' };
  const scratch = join(directory, 'scratch');
  await buildPayload({
    version: '1.1.0',
    previous: [],
    manifests,
    images: new Map(),
    base: `oci:${base.directory}:b`,
    out,
    scratch,
  });
  const { stdout } = await runOrThrow('tar', [
    '-tzf',
    join(out.directory, 'blobs', 'sha256', await firstLayer(out.directory)),
  ]);
  assert.match(stdout, /^bin\/cp$/m);
});

async function firstLayer(layout: string): Promise<string> {
  const read = async (hex: string) =>
    JSON.parse(await readFile(join(layout, 'blobs', 'sha256', hex), 'utf8'));
  const index = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8'));
  const manifest = await read(index.manifests[0].digest.slice(7));
  assert.equal(manifest.layers.length, 2);
  const config = await read(manifest.config.digest.slice(7));
  assert.deepEqual(config.config, {
    Entrypoint: ['/bin/cp'],
    Env: ['A=1'],
    Labels: { from: 'base', 'io.openshift.release': '1.1.0' },
  });
  return manifest.layers[0].digest.slice(7);
}

test('the manifests of three real operators become a payload', needs('shared-data'), async () => {
  const root = join(sharedData, 'payload');
  const manifests = (await readdir(root)).map((name) => join(root, name));
  const images = new Map<string, string>();
  for (const path of manifests) {
    for (const tag of parseImageReferences(await readFile(join(path, 'image-references')), path).tags) {
      images.set(
        tag.name,
        await image(tag.name, tag.name === 'rhel-coreos' ? { 'ostree.linux': '6.12.0' } : {}),
      );
    }
  }
  assert.ok(images.size >= 18);
  const payload = await build({ manifests, images });
  assert.deepEqual(payload.problems, []);
  assert.ok(payload.manifests.length > 80);
  const all = [...payload.files.values()].map((bytes) => Buffer.from(bytes).toString()).join('\n');
  assert.doesNotMatch(all, /placeholder\.url/);
  assert.doesNotMatch(all, /origin-cloud-credential-operator:latest/);
  const deployment = fileOf(payload, '0000_80_machine-config_04_deployment.yaml');
  assert.ok(
    deployment.includes(`"--operator-image=${payload.images.get('machine-config-operator')?.reference}"`),
  );
  assert.ok(deployment.includes('"--payload-version=1.1.0"'));
  assert.ok(payload.files.has('0000_50_cloud-credential-operator_03-deployment.yaml'));
});

const object = (name: string, annotation: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: demo, annotations: {${annotation}}}\n`;
const included = 'include.release.openshift.io/self-managed-high-availability: "true"';

async function buildOf(name: string, files: Record<string, string>, images = new Map<string, string>()) {
  return await buildPayload({
    version: '1.1.0',
    previous: [],
    manifests: [await operator(name, files)],
    images,
    out: { directory: join(directory, name), reference: 'p' },
    scratch: join(directory, 'scratch'),
  });
}

test('objects that no cluster will take are named, with what is wrong, and those that are taken are counted', async () => {
  const { excluded, applied } = await buildOf('forgetful', {
    'a.yaml': object('taken', included),
    'b.yaml': object('other-profile', 'include.release.openshift.io/hypershift: "true"'),
    'c.yaml': `${object('forgotten', '')}---\n${object('wrong', 'include.release.openshift.io/ibm-cloud-managed: "yes"')}`,
    'd.yaml': object('check', 'openshift.io/preflight-check: "true"'),
    'e.yaml': object('misspelt', 'include.release.openshift.io/self-manged-high-availability: "true"'),
  });
  const prefix = join(directory, 'operators', 'forgetful');
  assert.deepEqual(excluded, [
    `ConfigMap demo/forgotten (${prefix}/c.yaml): it has no annotation of inclusion`,
    `ConfigMap demo/wrong (${prefix}/c.yaml): include.release.openshift.io/ibm-cloud-managed is "yes", not "true"`,
    `ConfigMap demo/misspelt (${prefix}/e.yaml): include.release.openshift.io/self-manged-high-availability names no profile that is known`,
  ]);
  assert.deepEqual(applied, { profile: 'self-managed-high-availability', count: 1, of: 5 });
});

test('a manifest that cannot be read ends the build, with its file once', async () => {
  for (const [text, message] of [
    ['kind: [', /operators\/broken\/a\.yaml: it is not YAML that can be read: /],
    ['kind: ConfigMap\n', /operators\/broken\/a\.yaml: document 1 has no kind or no name$/],
  ] as const) {
    await assert.rejects(buildOf('broken', { 'a.yaml': text }), (error: Error) => {
      assert.match(error.message, message);
      assert.equal(error.message.split('a.yaml').length, 2);
      return 'code' in error && error.code === 'InputInvalid';
    });
  }
});

const podOf: Record<string, (spec: string) => string> = {
  Pod: (spec) => `spec: ${spec}`,
  Deployment: (spec) => `spec: {template: {spec: ${spec}}}`,
  DaemonSet: (spec) => `spec: {template: {spec: ${spec}}}`,
  StatefulSet: (spec) => `spec: {template: {spec: ${spec}}}`,
  Job: (spec) => `spec: {template: {spec: ${spec}}}`,
  CronJob: (spec) => `spec: {jobTemplate: {spec: {template: {spec: ${spec}}}}}`,
};

test('a Pod whose image has neither a tag nor a digest ends the build; in every kind that has Pods', async () => {
  const annotation = (text: string) => `annotations: {${text}}`;
  const images = new Map([['web', await image('web')]]);
  for (const [kind, wrap] of Object.entries(podOf)) {
    const files = (spec: string, annotations = included) => ({
      'image-references': stream({ web: 'images.example/ns/web' }),
      'a.yaml': `apiVersion: v1\nkind: ${kind}\nmetadata: {name: x, ${annotation(annotations)}}\n${wrap(spec)}\n`,
    });
    const good = `{initContainers: [{image: images.example/ns/web:1}], containers: [{name: c, image: images.example/ns/web}, {image: other.example/x@sha256:${'a'.repeat(64)}}]}`;
    assert.deepEqual((await buildOf('pods', files(good), images)).unnamed, []);
    for (const spec of [
      '{containers: [{image: images.example/ns/web}, {image: "other.example/x:1"}]}',
      '{initContainers: [{image: "other.example/x:1"}], containers: []}',
      '{containers: [], volumes: [{name: v, image: {reference: "other.example/x:1"}}]}',
    ]) {
      await assert.rejects(buildOf('pods', files(spec), images), {
        code: 'ReferenceUnresolved',
        message: new RegExp(`other\\.example/x:1 of ${kind} x \\(.*/pods/a\\.yaml\\)`),
      });
    }
    const check = files('{containers: [{image: x}]}', 'openshift.io/preflight-check: "true"');
    await assert.rejects(buildOf('pods', check, images), { code: 'ReferenceUnresolved' });
    // What no cluster takes harms none.
    assert.equal((await buildOf('pods', files('{containers: [{image: x}]}', ''), images)).excluded.length, 1);
  }
});

test('an image that no operator names is told of, unless nodes boot it', async () => {
  const images = new Map([
    ['oops', await image('oops')],
    ['web', await image('web')],
    ['os', await image('os', { 'containers.bootc': '1' })],
  ]);
  const files = {
    'image-references': stream({ web: 'images.example/ns/web' }),
    'a.yaml': object('taken', included),
  };
  assert.deepEqual((await buildOf('unnamed', files, images)).unnamed, ['oops']);
});

test('the operator that the README builds: its image is pinned, and a cluster takes all of it', async () => {
  const { applied, unnamed } = await buildPayload({
    version: '1.1.0',
    previous: [],
    manifests: [join(repository, 'docs', 'my-operator')],
    images: new Map([['my-operator', await image('my-operator')]]),
    out: { directory: join(directory, 'readme'), reference: 'p' },
    scratch: join(directory, 'scratch'),
  });
  assert.equal(applied.count, applied.of);
  assert.deepEqual(unnamed, []);
});

test('a misspelt name of an image is called so, with the tag that was meant', async () => {
  const manifests = [
    await operator('misspelt', {
      'image-references': stream({ web: 'images.example/ns/web' }),
      'a.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n',
    }),
  ];
  const refused = async (...names: string[]): Promise<string> => {
    const images = new Map(names.map((name) => [name, 'oci:absent:x']));
    const error = await build({ manifests, images }).catch((thrown: unknown) => thrown);
    assert.ok(isSluiceError(error, 'ReferenceUnresolved'), String(error));
    assert.match(error.message, /no source is given for web \(misspelt\)/);
    return error.next;
  };
  assert.match(
    await refused('wbe'),
    /^wbe is no tag of image-references; did you mean web\? Give one for each/,
  );
  assert.match(await refused('os'), /^os is no tag of image-references\. Give one for each/);
  assert.match(await refused(), /^Give one for each/);
});
