import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schema } from './core.ts';
import { readCrds, renderCrds } from './crds.ts';
import { kindTable, platforms, resourceName } from './kinds.ts';

/** Every schema of a definition with the path of its fields. */
function* schemas(schema: Schema, path: string): Generator<[string, Schema]> {
  yield [path, schema];
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    yield* schemas(property, `${path}.${name}`);
  }
  if (schema.items !== undefined) yield* schemas(schema.items, `${path}[]`);
  if (typeof schema.additionalProperties === 'object') {
    yield* schemas(schema.additionalProperties, `${path}{}`);
  }
}

function allSchemas(): [string, Schema][] {
  return readCrds().flatMap((crd) => [
    ...schemas(crd.spec.versions[0]?.schema?.openAPIV3Schema ?? {}, crd.spec.names.kind),
  ]);
}

test('the schemas are structural: each field has a type, map keys are required scalars', () => {
  const all = allSchemas();
  assert.ok(all.length > 300, `${all.length} fields are too few to be all`);
  for (const [path, schema] of all) {
    assert.ok(schema.type !== undefined, `${path} has no type`);
    if (schema['x-kubernetes-list-type'] !== 'map') continue;
    const item = schema.items ?? {};
    for (const key of schema['x-kubernetes-list-map-keys'] ?? []) {
      assert.ok(item.required?.includes(key), `${path}: the map key ${key} is not required`);
      assert.equal(item.properties?.[key]?.type, 'string', `${path}: the map key ${key} is no string`);
    }
  }
});

test('kubectl explain has words for each field', () => {
  for (const [path, schema] of allSchemas()) {
    if (path.endsWith('.metadata') || path.endsWith('[]')) continue;
    assert.ok((schema.description ?? '').length > 3, `${path} has no description`);
  }
});

test('kubectl get shows something of every kind, and columns are told', () => {
  for (const crd of readCrds()) {
    const columns = crd.spec.versions[0]?.additionalPrinterColumns ?? [];
    assert.ok(columns.length >= 3, crd.metadata.name);
    for (const column of columns) {
      if (column.name === 'Age') continue;
      assert.ok(column.description !== undefined, `${crd.metadata.name}: ${column.name}`);
    }
  }
});

test('every definition has a status of its own', () => {
  for (const crd of readCrds()) {
    // What policies judge by is said by one writer, and asked for by nobody.
    const wanted = crd.spec.names.kind === 'PolicyFacts' ? undefined : { status: {} };
    assert.deepEqual(crd.spec.versions[0]?.subresources, wanted);
  }
});

test('rendered definitions stand where the table of kinds says', () => {
  for (const platform of platforms) {
    const kinds = kindTable(platform) as unknown as Record<
      string,
      { group: string; plural: string; version: string }
    >;
    const crds = renderCrds(platform);
    for (const crd of crds) {
      const kind = kinds[crd.spec.names.kind];
      assert.ok(kind !== undefined);
      assert.equal(crd.spec.group, kind.group);
      assert.equal(crd.metadata.name, resourceName(kind));
      assert.equal(crd.spec.versions[0]?.name, kind.version);
    }
    assert.equal(crds.length, platform === 'openshift' ? 6 : 9);
  }
});

test('on openshift nothing that the platform serves itself is installed', () => {
  const kinds = renderCrds('openshift', { machineConfigOperatorServes: true }).map(
    (crd) => crd.metadata.name,
  );
  assert.deepEqual(kinds.sort(), [
    'fleetlockgroups.sluice.dev',
    'internalreleaseimages.sluice.dev',
    'machineconfignodes.sluice.dev',
    'nodeupdates.sluice.dev',
    'policyfacts.sluice.dev',
    'updatepreflights.config.openshift.io',
  ]);
});

test('a rendered definition shares no part with another', () => {
  const [first] = renderCrds('standalone');
  const [again] = renderCrds('standalone');
  assert.notEqual(first, again);
  const seen = new Set<unknown>();
  const walk = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    assert.ok(!seen.has(value), 'a part is there twice');
    seen.add(value);
    for (const part of Object.values(value)) walk(part);
  };
  walk(first);
});
