import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { CustomResourceDefinition } from '../src/api/core.ts';

// The kinds by which OLM finds catalogs, as far as a catalog states them: field names, types and enumerations follow
// operator-framework/api (crds/operators.coreos.com_catalogsources.yaml), operator-framework/operator-controller
// (olm.operatorframework.io_clustercatalogs.yaml) and openshift/api (0000_03_marketplace_01_operatorhubs.crd.yaml).
// Nothing is preserved that they do not know, so that a wrong field is refused where it is asked for strictly.

const text = { type: 'string' };
const oneOf = (...values: string[]) => ({ type: 'string', enum: values });
const object = (properties: object, required: string[] = []) => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
});

const catalogSource = object(
  {
    sourceType: text,
    image: text,
    address: text,
    configMap: text,
    displayName: text,
    description: text,
    publisher: text,
    priority: { type: 'integer' },
    secrets: { type: 'array', items: text },
    grpcPodConfig: object({
      memoryTarget: { 'x-kubernetes-int-or-string': true },
      nodeSelector: { type: 'object', additionalProperties: text },
      priorityClassName: text,
      securityContextConfig: oneOf('legacy', 'restricted'),
    }),
    updateStrategy: object({ registryPoll: object({ interval: text }) }),
  },
  ['sourceType'],
);

const isDigest = "self.ref.contains('@')";
const clusterCatalog = object(
  {
    availabilityMode: { ...oneOf('Unavailable', 'Available'), default: 'Available' },
    priority: { type: 'integer', format: 'int32', default: 0 },
    source: {
      ...object(
        {
          type: oneOf('Image'),
          image: {
            ...object(
              {
                ref: {
                  type: 'string',
                  maxLength: 1000,
                  pattern:
                    '^[A-Za-z0-9.-]+(:[0-9]+)?/[a-z0-9._/-]+(@sha256:[0-9a-f]{64}|:[A-Za-z0-9_.-]{1,127})$',
                },
                pollIntervalMinutes: { type: 'integer', minimum: 1 },
              },
              ['ref'],
            ),
            'x-kubernetes-validations': [
              { rule: `!(${isDigest}) || !has(self.pollIntervalMinutes)`, message: 'no poll by digest' },
            ],
          },
        },
        ['type'],
      ),
      'x-kubernetes-validations': [{ rule: 'has(self.image)', message: 'image is required' }],
    },
  },
  ['source'],
);

const operatorHub = object({
  disableAllDefaultSources: { type: 'boolean' },
  sources: { type: 'array', items: object({ name: text, disabled: { type: 'boolean' } }) },
});

function definition(of: {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope: 'Cluster' | 'Namespaced';
  readonly spec: object;
}): CustomResourceDefinition {
  const { group, version, kind, plural, scope, spec } = of;
  const schema = object({
    apiVersion: text,
    kind: text,
    metadata: { type: 'object' },
    spec,
    status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  });
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: { status: {} },
        },
      ],
    },
  } as unknown as CustomResourceDefinition;
}

/**
 * The definitions of OLM and OpenShift's marketplace: those of `SLUICE_OLM_CRDS`, a directory with the YAML of their
 * makers, where it is set, else ours.
 */
export function olmDefinitions(): CustomResourceDefinition[] {
  const directory = process.env.SLUICE_OLM_CRDS;
  if (directory !== undefined) {
    return readdirSync(directory)
      .filter((file) => file.endsWith('.yaml'))
      .map((file) => parse(readFileSync(join(directory, file), 'utf8')) as CustomResourceDefinition);
  }
  return [
    definition({
      group: 'operators.coreos.com',
      version: 'v1alpha1',
      kind: 'CatalogSource',
      plural: 'catalogsources',
      scope: 'Namespaced',
      spec: catalogSource,
    }),
    definition({
      group: 'olm.operatorframework.io',
      version: 'v1',
      kind: 'ClusterCatalog',
      plural: 'clustercatalogs',
      scope: 'Cluster',
      spec: clusterCatalog,
    }),
    definition({
      group: 'config.openshift.io',
      version: 'v1',
      kind: 'OperatorHub',
      plural: 'operatorhubs',
      scope: 'Cluster',
      spec: operatorHub,
    }),
  ];
}
