import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SluiceError } from '../errors/error.ts';
import { digestOf } from '../oci/digest.ts';
import {
  architectures,
  type BundleDocument,
  bundleName,
  formatBundleDocument,
  isBundleName,
  parseBundleDocument,
  parseBundleName,
} from './document.ts';

const payload = digestOf(Buffer.from('payload'));
const web = digestOf(Buffer.from('web'));
const json = (changes: object = {}) => ({
  formatVersion: 1,
  name: 'ocp-release-bundle-1.1.0-x86_64',
  version: '1.1.0',
  arch: 'x86_64',
  previous: ['1.0.0'],
  payload,
  os: { tag: 'web', digest: web, kernel: '6.12.1' },
  images: [
    { name: 'web', source: 'a.example/b/web', role: 'component', digest: web, size: 10, closureBytes: 100 },
    {
      name: 'x',
      source: 'a.example/x/y',
      role: 'additional',
      tag: '8',
      digest: web,
      size: 10,
      closureBytes: 100,
    },
    {
      name: 'payload',
      source: 'a.example/rel',
      role: 'payload',
      digest: payload,
      size: 10,
      closureBytes: 100,
    },
  ],
  versions: { '1.1.0': payload },
  ...changes,
});
const parse = (value: unknown): BundleDocument => parseBundleDocument(Buffer.from(JSON.stringify(value)));
const firstImage = (changes: object) => {
  const [first, ...others] = json().images;
  return json({ images: [{ ...first, ...changes }, ...others] });
};

test('a document says where each image stands, and is written as it was read', () => {
  const document = parse(json());
  assert.deepEqual(
    document.images.map((image) => `${image.repository}:${image.tag}`),
    ['openshift/release:1.1.0-web', 'x/y:8', `openshift/release-images:${payload.slice(7)}`],
  );
  assert.deepEqual(parseBundleDocument(formatBundleDocument(document)), document);
});

test('what contradicts itself or does not fit is refused, and the place is named', () => {
  const cases: [unknown, RegExp][] = [
    [json({ formatVersion: 2 }), /format version 2/],
    [json({ name: 'ocp-release-bundle-1.1.0-aarch64' }), /version and arch/],
    [json({ version: '1.2.0' }), /version and arch/],
    [json({ payload: web }), /payload exactly once/],
    [json({ versions: { '1.1.0': web } }), /versions/],
    [json({ versions: {} }), /versions/],
    [json({ previous: 'all' }), /previous/],
    [json({ os: { tag: 'web', digest: payload } }), /os/],
    [firstImage({ role: 'king' }), /images\[0\]\.role/],
    [firstImage({ source: 'a.example/b/web:tag' }), /images\[0\]\.source/],
    [firstImage({ source: '../../etc' }), /image reference/],
    [firstImage({ name: '../x' }), /images\[0\]/],
    [firstImage({ digest: 'sha256:12' }), /images\[0\]/],
    [firstImage({ size: -1 }), /images\[0\]\.size/],
    [firstImage({ closureBytes: 1.5 }), /images\[0\]\.closureBytes/],
    [firstImage({ attached: [{ digest: web, tag: 'a b' }] }), /images\[0\]\.attached\[0\]/],
    [json({ images: [...json().images, json().images[0]] }), /two stand at openshift\/release:1\.1\.0-web/],
    [[], /is not an object/],
    [null, /is not an object/],
  ];
  for (const [value, message] of cases) assert.throws(() => parse(value), { code: 'InputInvalid', message });
  assert.throws(() => parseBundleDocument(Buffer.from('{"formatVersion":1,"formatVersion":1}')), {
    message: /twice/,
  });
  assert.throws(() => parseBundleDocument(Buffer.alloc(5 * 1024 * 1024, 0x20)), { code: 'InputTooLarge' });
});

test('whatever is put into any place, a document is read or refused, never more', () => {
  const paths = placesOf(json());
  fc.assert(
    fc.property(fc.constantFrom(...paths), fc.anything(), (path, value) => {
      const document = structuredClone(json()) as unknown;
      set(document, path, value);
      const text = JSON.stringify(document, (_, each) => (typeof each === 'bigint' ? String(each) : each));
      try {
        parseBundleDocument(Buffer.from(text));
      } catch (error) {
        assert.ok(error instanceof SluiceError, String((error as Error).stack));
      }
    }),
    { numRuns: 500 },
  );
});

test('D17 names fit the API or are refused, never cut', () => {
  assert.equal(bundleName('4.22.0-rc.10', 'aarch64'), 'ocp-release-bundle-4.22.0-rc.10-aarch64');
  assert.throws(() => bundleName(`4.22.0-${'n'.repeat(40)}`, 'x86_64'), {
    code: 'InputInvalid',
    message: /64/,
  });
  assert.throws(() => bundleName('4.22.0+build', 'x86_64'), { code: 'InputInvalid' });
  assert.throws(() => bundleName('4.22', 'x86_64'), { code: 'InputInvalid' });
  for (const bad of [
    'ocp-release-bundle-4.22',
    'ocp-release-bundle-4.19.5',
    'ocp-release-bundle-4.19.5-i386',
    'x',
  ]) {
    assert.equal(isBundleName(bad), false);
    assert.throws(() => parseBundleName(bad), { code: 'InputInvalid' });
  }
  const version = fc.tuple(
    fc.nat(99),
    fc.nat(99),
    fc.nat(99),
    fc.constantFrom('', '-rc.1', '-ec.3', '-0.nightly-x'),
  );
  fc.assert(
    fc.property(version, fc.constantFrom(...architectures), ([major, minor, patch, rest], arch) => {
      const text = `${major}.${minor}.${patch}${rest}`;
      assert.deepEqual(parseBundleName(bundleName(text, arch)), { version: text, arch });
    }),
  );
});

type Path = (string | number)[];

function placesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, child]) => placesOf(child, [...path, key]))].filter(
    (each) => each.length > 0,
  );
}

function set(value: unknown, path: Path, next: unknown): void {
  const [key, ...rest] = path;
  if (key === undefined) return;
  const holder = value as Record<string | number, unknown>;
  if (rest.length === 0) holder[key] = next;
  else set(holder[key], rest, next);
}
