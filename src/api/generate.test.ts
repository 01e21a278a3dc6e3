import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readCrds } from './crds.ts';
import { generateResources } from './generate.ts';

test('resources.ts is what crds/ give: run `npm run generate`', () => {
  const written = readFileSync(join(import.meta.dirname, 'resources.ts'), 'utf8');
  assert.equal(written, generateResources());
});

test('a required field has no question mark, an enum is a union, a nullable field may be null', () => {
  const text = generateResources([
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'things.example.org' },
      spec: {
        group: 'example.org',
        names: { kind: 'Thing', plural: 'things' },
        scope: 'Cluster',
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                required: ['spec'],
                properties: {
                  spec: {
                    type: 'object',
                    required: ['mode'],
                    properties: {
                      mode: { type: 'string', enum: ['On', "Don't"] },
                      copies: {
                        type: 'array',
                        items: { type: 'object', properties: { n: { type: 'integer' } } },
                      },
                      labels: { type: 'object', additionalProperties: { type: 'string' } },
                      until: { type: 'string', nullable: true },
                    },
                  },
                },
              },
            },
          },
        ],
      },
    },
  ]);
  assert.match(text, /export interface Thing extends KubeObject \{\n {2}spec: ThingSpec;\n\}/);
  assert.match(text, /mode: 'On' \| 'Don\\'t';/);
  assert.match(text, /copies\?: ThingSpecCopy\[\];/);
  assert.match(text, /export interface ThingSpecCopy \{\n {2}n\?: number;\n\}/);
  assert.match(text, /labels\?: Record<string, string>;/);
  assert.match(text, /until\?: string \| null;/);
});

test('no two places of the schemas have types of one name', () => {
  const names = [...generateResources(readCrds()).matchAll(/^export interface (\w+)/gm)].map(
    (match) => match[1],
  );
  assert.ok(names.length >= 8, `${names.length} types are too few to be all`);
  assert.equal(new Set(names).size, names.length);
});
