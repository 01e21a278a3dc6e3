import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { needs, sharedData } from '../../tests/tier.ts';
import type { CustomResourceDefinition, Schema } from './core.ts';
import { readCrds } from './crds.ts';

/**
 * What is written through a schema of ours must be valid, and stay whole, in the one that real clusters serve.
 * So ours must not know a field that theirs lacks, nor allow what theirs refuses, nor omit what theirs requires.
 */

const upstream: Record<string, string> = {
  ClusterVersion: 'clusterversions.crd.yaml',
  ClusterOperator: 'clusteroperators.crd.yaml',
  ImageDigestMirrorSet: 'imagedigestmirrorsets.crd.yaml',
  InternalReleaseImage: 'internalreleaseimages.crd.yaml',
  MachineConfigNode: 'machineconfignodes.crd.yaml',
};

/** Rules that say the same in other words. */
const sameMeaning: Record<string, string> = {
  // The embedded API has no library of formats, and RFC 1123 is one expression.
  '!format.dns1123Subdomain().validate(self).hasValue()':
    "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",
};

/** Rules about values that ours does not allow at all. */
const beyondOurs = [/'ClusterAPI' in self\.spec\.capabilities/];

function read(file: string): CustomResourceDefinition {
  return parse(readFileSync(join(sharedData, 'crds', file), 'utf8')) as CustomResourceDefinition;
}

function ours(kind: string): CustomResourceDefinition {
  const crd = readCrds().find((candidate) => candidate.spec.names.kind === kind);
  assert.ok(crd !== undefined, kind);
  return crd;
}

const exact = [
  'type',
  'format',
  'pattern',
  'nullable',
  'default',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
] as const;
const atLeast = ['minLength', 'minimum', 'minItems', 'minProperties'] as const;
const atMost = ['maxLength', 'maximum', 'maxItems', 'maxProperties'] as const;

let compared = 0;

function compare(own: Schema, theirs: Schema | undefined, path: string): void {
  assert.ok(theirs !== undefined, `${path} does not exist upstream`);
  compared += 1;
  for (const key of exact) assert.deepEqual(own[key], theirs[key], `${path}: ${key}`);
  for (const key of atLeast) {
    if (theirs[key] !== undefined) assert.ok((own[key] ?? -1) >= theirs[key], `${path}: ${key} is looser`);
  }
  for (const key of atMost) {
    if (theirs[key] !== undefined) {
      assert.ok((own[key] ?? Number.POSITIVE_INFINITY) <= theirs[key], `${path}: ${key} is looser`);
    }
  }
  if (theirs.enum !== undefined) {
    assert.ok(own.enum !== undefined, `${path} has no enum`);
    for (const value of own.enum) {
      assert.ok(theirs.enum.includes(value), `${path}: '${value}' is not allowed upstream`);
    }
  }
  for (const name of theirs.required ?? []) {
    assert.ok(own.required?.includes(name), `${path}: upstream requires ${name}`);
  }
  compareRules(own, theirs, path);
  for (const [name, property] of Object.entries(own.properties ?? {})) {
    compare(property, theirs.properties?.[name], `${path}.${name}`);
  }
  if (own.items !== undefined) compare(own.items, theirs.items, `${path}[]`);
  assert.equal(typeof own.additionalProperties, typeof theirs.additionalProperties, path);
}

function compareRules(own: Schema, theirs: Schema, path: string): void {
  const normal = (rule: string) => rule.replace(/\s+/g, ' ').trim();
  const wanted = (theirs['x-kubernetes-validations'] ?? [])
    .map(({ rule }) => normal(rule))
    .filter((rule) => !beyondOurs.some((pattern) => pattern.test(rule)))
    .map((rule) => sameMeaning[rule] ?? rule);
  const have = (own['x-kubernetes-validations'] ?? []).map(({ rule }) => normal(rule));
  assert.deepEqual(have.sort(), wanted.sort(), `${path}: validation rules`);
}

for (const [kind, file] of Object.entries(upstream)) {
  test(`${kind} is a structural subset of upstream's`, needs('shared-data'), () => {
    const own = ours(kind);
    const theirs = read(file);
    assert.equal(own.spec.group, theirs.spec.group);
    assert.equal(own.spec.scope, theirs.spec.scope);
    for (const key of ['kind', 'listKind', 'plural', 'singular'] as const) {
      assert.deepEqual(own.spec.names[key], theirs.spec.names[key], key);
    }
    // A short name of ours stands only where upstream has none.
    const { shortNames } = theirs.spec.names;
    if (shortNames !== undefined) assert.deepEqual(own.spec.names.shortNames, shortNames);
    const [version] = own.spec.versions;
    const [theirVersion] = theirs.spec.versions;
    assert.equal(version?.name, theirVersion?.name);
    assert.deepEqual(version?.subresources, theirVersion?.subresources);
    compared = 0;
    compare(
      version?.schema?.openAPIV3Schema ?? {},
      theirVersion?.schema?.openAPIV3Schema,
      own.spec.names.kind,
    );
    assert.ok(compared >= 10, `only ${compared} fields were compared`);
  });

  // Nobody fills what upstream's columns of a MachineConfigNode show (docs/decisions/0019).
  if (kind === 'MachineConfigNode') continue;

  test(`${kind}: upstream's columns come first, in its order`, needs('shared-data'), () => {
    const short = (crd: CustomResourceDefinition) =>
      (crd.spec.versions[0]?.additionalPrinterColumns ?? [])
        .filter((column) => (column.priority ?? 0) === 0)
        .map(({ name, type, jsonPath }) => ({ name, type, jsonPath }));
    const wanted = short(read(file));
    assert.deepEqual(short(ours(kind)).slice(0, wanted.length), wanted);
  });
}
