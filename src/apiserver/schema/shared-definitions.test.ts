import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { needs, sharedData } from '../../../tests/tier.ts';
import { compileSchema } from './compile.ts';
import { errorText } from './field-error.ts';
import type { JsonObject } from './json.ts';

/** Upstream's own definitions: each loads, each rule compiles, and evaluates on objects that it must accept or refuse. */

const folder = join(sharedData, 'crds');

function schemaOf(file: string, version?: string) {
  const crd = parse(readFileSync(join(folder, file), 'utf8'));
  const versions = crd.spec.versions as { name: string; schema: { openAPIV3Schema: JsonObject } }[];
  const found = version === undefined ? versions[0] : versions.find(({ name }) => name === version);
  assert.ok(found !== undefined);
  return compileSchema(found.schema.openAPIV3Schema);
}

test('every rule of every definition compiles', needs('shared-data'), async (t) => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.crd.yaml'));
  assert.ok(files.length >= 8, 'the definitions are there');
  for (const file of files) {
    await t.test(file, () => assert.deepEqual(schemaOf(file).problems.map(errorText), []));
  }
});

interface Case {
  readonly file: string;
  readonly name: string;
  readonly object: JsonObject;
  readonly old?: JsonObject;
  readonly errors: readonly RegExp[];
}

const iri = (releases: string[], name = 'cluster'): JsonObject => ({
  apiVersion: 'machineconfiguration.openshift.io/v1alpha1',
  kind: 'InternalReleaseImage',
  metadata: { name },
  spec: { releases: releases.map((release) => ({ name: release })) },
});

const version = (spec: JsonObject): JsonObject => ({
  apiVersion: 'config.openshift.io/v1',
  kind: 'ClusterVersion',
  metadata: { name: 'version' },
  spec: { clusterID: 'e3b0c442-98fc-4c14-9afb-f4c8996fb924', ...spec },
});

const cases: Case[] = [
  {
    file: 'internalreleaseimages.crd.yaml',
    name: 'good',
    object: iri(['ocp-release-bundle-4.20.1-x86_64']),
    errors: [],
  },
  {
    file: 'internalreleaseimages.crd.yaml',
    name: 'not the singleton',
    object: iri(['ocp-release-bundle-4.20.1-x86_64'], 'other'),
    errors: [/singleton|cluster/],
  },
  {
    file: 'internalreleaseimages.crd.yaml',
    name: 'no bundle name',
    object: iri(['4.20.1']),
    errors: [/ocp-release-bundle/],
  },
  {
    file: 'internalreleaseimages.crd.yaml',
    name: 'twice the same',
    object: iri(['ocp-release-bundle-4.20.1-x86_64', 'ocp-release-bundle-4.20.1-x86_64']),
    errors: [/Duplicate value/],
  },
  { file: 'internalreleaseimages.crd.yaml', name: 'none', object: iri([]), errors: [/at least 1 items/] },
  {
    file: 'clusterversions-default.crd.yaml',
    name: 'good',
    object: version({ channel: 'stable' }),
    errors: [],
  },
  {
    file: 'clusterversions-default.crd.yaml',
    name: 'update to a version',
    object: version({ desiredUpdate: { version: '4.20.1' } }),
    errors: [],
  },
  {
    file: 'clusterversions-default.crd.yaml',
    name: 'architecture without version',
    object: version({ desiredUpdate: { architecture: 'Multi' } }),
    errors: [/[Vv]ersion must be set if Architecture is set/],
  },
  {
    file: 'clusterversions-default.crd.yaml',
    name: 'architecture and image',
    object: version({ desiredUpdate: { architecture: 'Multi', version: '4.20.1', image: 'x@y' } }),
    errors: [/cannot set both Architecture and Image/],
  },
  {
    file: 'clusterversions-default.crd.yaml',
    name: 'capability that needs another',
    object: version({
      capabilities: { baselineCapabilitySet: 'None', additionalEnabledCapabilities: ['marketplace'] },
    }),
    errors: [/OperatorLifecycleManager/],
  },
];

test('rules of upstream judge as they are meant', needs('shared-data'), async (t) => {
  for (const { file, name, object, old, errors } of cases) {
    await t.test(`${file}: ${name}`, () => {
      const schema = schemaOf(file);
      const given = structuredClone(object);
      assert.deepEqual(schema.prune(given), [], 'the schema knows all fields of the test');
      schema.default(given);
      const texts = schema.validate(given, old).map(errorText);
      if (errors.length === 0) assert.deepEqual(texts, []);
      for (const expected of errors)
        assert.ok(
          texts.some((text) => expected.test(text)),
          `${expected} in ${JSON.stringify(texts)}`,
        );
    });
  }
});

test('transition rules: the vSphere and IP fields of Infrastructure stay', needs('shared-data'), () => {
  const schema = schemaOf('infrastructures.crd.yaml');
  const infrastructure = (platform: JsonObject): JsonObject => ({
    apiVersion: 'config.openshift.io/v1',
    kind: 'Infrastructure',
    metadata: { name: 'cluster' },
    spec: { platformSpec: { type: 'BareMetal', baremetal: platform } },
  });
  const before = infrastructure({ apiServerInternalIPs: ['192.168.1.1'], ingressIPs: ['192.168.1.2'] });
  assert.deepEqual(schema.validate(before).map(errorText), []);
  assert.match(
    schema
      .validate(infrastructure({ ingressIPs: ['192.168.1.2'] }), before)
      .map(errorText)
      .join(),
    /apiServerInternalIPs list is required once set/,
  );
  assert.match(
    schema
      .validate(infrastructure({ apiServerInternalIPs: ['192.168.1.300'] }))
      .map(errorText)
      .join(),
    /is not a valid IP|IP/,
  );
});

test('MachineConfigNode: generations only grow, the name is the node', needs('shared-data'), () => {
  const schema = schemaOf('machineconfignodes-default.crd.yaml');
  const machine = (name: string, spec: JsonObject): JsonObject => ({
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfigNode',
    metadata: { name },
    spec: {
      node: { name: 'a' },
      pool: { name: 'master' },
      configVersion: { desired: 'rendered-1' },
      ...spec,
    },
  });
  assert.deepEqual(schema.validate(machine('a', {})).map(errorText), []);
  assert.match(
    schema.validate(machine('b', {})).map(errorText).join(),
    /spec.node.name should match metadata.name|node.name/,
  );
});
