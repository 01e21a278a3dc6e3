import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CustomResourceDefinition, Schema } from './core.ts';
import { readCrds } from './crds.ts';

/**
 * Writes resources.ts: the types of our kinds, from crds/. `npm run generate`; a test regenerates and compares.
 */

const named = new Map<Schema, string>();
const output = join(import.meta.dirname, 'resources.ts');

/** The whole text of resources.ts. */
export function generateResources(crds: readonly CustomResourceDefinition[] = readCrds()): string {
  const used = new Set<string>(['KubeObject']);
  const parts = crds.map((crd) => kindTypes(crd, used));
  return [
    '// Generated from crds/*.yaml by src/api/generate.ts (npm run generate). Do not edit.',
    '',
    `import type { ${[...used].sort().join(', ')} } from './core.ts';`,
    '',
    ...parts,
  ].join('\n');
}

function kindTypes(crd: CustomResourceDefinition, used: Set<string>): string {
  const { kind } = crd.spec.names;
  const schema = crd.spec.versions[0]?.schema?.openAPIV3Schema ?? {};
  const types: string[] = [];
  const { apiVersion: _, kind: __, metadata: ___, ...own } = schema.properties ?? {};
  emitInterface(kind, { ...schema, properties: own }, types, used, 'KubeObject');
  return types.join('\n');
}

/** Appends the interface of an object, then those of its parts. */
function emitInterface(
  name: string,
  schema: Schema,
  types: string[],
  used: Set<string>,
  base?: string,
): void {
  const nested: string[] = [];
  const lines = Object.entries(schema.properties ?? {}).map(([key, property]) => {
    const optional = schema.required?.includes(key) ? '' : '?';
    const type = typeOf(`${name}${capital(key)}`, key, property, nested, used);
    return `${comment(property.description, '  ')}  ${key}${optional}: ${type};`;
  });
  const heritage = base === undefined ? '' : ` extends ${base}`;
  types.push(
    `${comment(schema.description, '')}export interface ${name}${heritage} {\n${lines.join('\n')}${lines.length > 0 ? '\n' : ''}}\n`,
    ...nested,
  );
}

function typeOf(name: string, key: string, schema: Schema, nested: string[], used: Set<string>): string {
  const bare = bareType(name, key, schema, nested, used);
  return schema.nullable === true ? `${bare} | null` : bare;
}

function bareType(name: string, key: string, schema: Schema, nested: string[], used: Set<string>): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => quote(value)).join(' | ');
  switch (schema.type) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'boolean';
    case 'integer':
    case 'number':
      return 'number';
    case 'array': {
      const items = schema.items ?? {};
      const condition = conditionType(key, items);
      if (condition !== undefined) {
        used.add(condition);
        return `${condition}[]`;
      }
      const item = typeOf(
        name.slice(0, name.length - key.length) + singular(capital(key)),
        '',
        items,
        nested,
        used,
      );
      return /[ |]/.test(item) ? `(${item})[]` : `${item}[]`;
    }
    case 'object':
      if (schema.properties !== undefined) {
        // A schema that a file names by an anchor is one type, named after its first place.
        const known = named.get(schema);
        if (known !== undefined) return known;
        named.set(schema, name);
        emitInterface(name, schema, nested, used);
        return name;
      }
      return typeof schema.additionalProperties === 'object'
        ? `Record<string, ${typeOf(name, '', schema.additionalProperties, nested, used)}>`
        : 'Record<string, unknown>';
    default:
      return 'unknown';
  }
}

/** Conditions are the same thing everywhere; OpenShift's older ones require less. */
function conditionType(key: string, items: Schema): string | undefined {
  if (key !== 'conditions') return undefined;
  return items.required?.includes('reason') === true ? 'Condition' : 'OperatorCondition';
}

function comment(description: string | undefined, indent: string): string {
  if (description === undefined) return '';
  const width = 110 - indent.length - 3;
  const lines: string[] = [];
  for (const word of description.split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length + 1 > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  const [only] = lines;
  if (lines.length === 1 && only !== undefined && only.length < width - 3) return `${indent}/** ${only} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function singular(text: string): string {
  if (text.endsWith('ies')) return `${text.slice(0, -3)}y`;
  return text.endsWith('s') ? text.slice(0, -1) : text;
}

function quote(value: unknown): string {
  return `'${String(value).replaceAll("'", "\\'")}'`;
}

if (process.argv[1] === import.meta.filename) {
  const text = generateResources();
  if (readFileSync(output, 'utf8') !== text) writeFileSync(output, text);
}
