import { type KubeObject, record } from './object.ts';
import { badRequest } from './status.ts';

/** Whether an object is chosen; `text` is a quick look at its JSON that may only say "surely not". */
export interface Selector {
  /** False where the JSON text shows that the object cannot match; saves parsing it. */
  mayMatch(json: string): boolean;
  matches(object: KubeObject): boolean;
}

export const everything: Selector = { mayMatch: () => true, matches: () => true };

/** Longest selector that is read. */
const selectorCharactersMax = 8 * 1024;

type Requirement =
  | { readonly key: string; readonly operator: 'in' | 'notIn'; readonly values: ReadonlySet<string> }
  | { readonly key: string; readonly operator: 'exists' | 'absent' };

/** Both selectors of a request. @throws 400 where one cannot be read, or names a field that cannot be selected */
export function parseSelector(
  labelSelector: string | undefined,
  fieldSelector: string | undefined,
  selectableFields: readonly string[],
): Selector {
  const labels = labelSelector ? parseLabelSelector(labelSelector) : [];
  const fields = fieldSelector ? parseFieldSelector(fieldSelector, selectableFields) : [];
  if (labels.length === 0 && fields.length === 0) return everything;
  const needles = [...labels.flatMap(labelNeedle), ...fields.flatMap(fieldNeedle)];
  return {
    mayMatch: (json) => needles.every((needle) => json.includes(needle)),
    matches: (object) =>
      labels.every((requirement) => holds(requirement, object.metadata.labels?.[requirement.key])) &&
      fields.every((field) => (fieldValue(object, field.key) === field.value) === field.equal),
  };
}

function holds(requirement: Requirement, value: string | undefined): boolean {
  switch (requirement.operator) {
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
    case 'in':
      return value !== undefined && requirement.values.has(value);
    case 'notIn':
      return value === undefined || !requirement.values.has(value);
  }
}

// What JSON.stringify writes for a member is in the text of every object that has it.
function labelNeedle(requirement: Requirement): string[] {
  const key = JSON.stringify(requirement.key);
  if (requirement.operator === 'exists') return [`${key}:`];
  if (requirement.operator !== 'in') return [];
  const [only] = requirement.values;
  return requirement.values.size === 1 ? [`${key}:${JSON.stringify(only)}`] : [`${key}:`];
}

function fieldNeedle(field: FieldRequirement): string[] {
  if (!field.equal || field.value === '' || field.value === 'false' || field.value === 'true') return [];
  return [JSON.stringify(field.value).slice(1, -1)];
}

/** The label selector grammar of apimachinery: `a=b,c!=d,e in (f,g),h notin (i),j,!k`. */
export function parseLabelSelector(text: string): Requirement[] {
  if (text.length > selectorCharactersMax) throw badRequest('the label selector is too long');
  const requirements: Requirement[] = [];
  for (const part of splitOutsideBrackets(text)) requirements.push(parseRequirement(part, text));
  return requirements;
}

const label = '[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?';
const setRequirement = new RegExp(String.raw`^(${label})\s+(in|notin)\s*\(([^()]*)\)$`);
const equalityRequirement = new RegExp(String.raw`^(${label})\s*(==|=|!=)\s*([A-Za-z0-9._-]*)$`);
const presenceRequirement = new RegExp(String.raw`^(!?)\s*(${label})$`);

function parseRequirement(part: string, whole: string): Requirement {
  const set = setRequirement.exec(part);
  if (set !== null) {
    const values = new Set((set[3] ?? '').split(',').map((value) => value.trim()));
    return { key: set[1] ?? '', operator: set[2] === 'in' ? 'in' : 'notIn', values };
  }
  const equality = equalityRequirement.exec(part);
  if (equality !== null) {
    const operator = equality[2] === '!=' ? 'notIn' : 'in';
    return { key: equality[1] ?? '', operator, values: new Set([equality[3] ?? '']) };
  }
  const presence = presenceRequirement.exec(part);
  if (presence !== null) {
    return { key: presence[2] ?? '', operator: presence[1] === '!' ? 'absent' : 'exists' };
  }
  throw badRequest(`unable to parse requirement: ${JSON.stringify(part)} in ${JSON.stringify(whole)}`);
}

function splitOutsideBrackets(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character === ',' && depth === 0) {
      parts.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  parts.push(text.slice(start).trim());
  return parts.filter((part) => part !== '');
}

interface FieldRequirement {
  readonly key: string;
  readonly value: string;
  readonly equal: boolean;
}

const alwaysSelectable = ['metadata.name', 'metadata.namespace'];

function parseFieldSelector(text: string, selectable: readonly string[]): FieldRequirement[] {
  if (text.length > selectorCharactersMax) throw badRequest('the field selector is too long');
  return text
    .split(',')
    .filter((part) => part !== '')
    .map((part) => {
      const match = /^([^=!]+)(==|=|!=)(.*)$/s.exec(part);
      if (match === null) throw badRequest(`invalid field selector: ${part}`);
      const [, key = '', operator, value = ''] = match;
      if (!alwaysSelectable.includes(key) && !selectable.includes(key)) {
        throw badRequest(
          selectable.length === 0
            ? `${JSON.stringify(key)} is not a known field selector: only "metadata.name", "metadata.namespace"`
            : `field label not supported: ${key}`,
        );
      }
      return { key, value: value.replaceAll(/\\([\\,=])/g, '$1'), equal: operator !== '!=' };
    });
}

/** The value of a selectable field as text; fields that are not set read as the empty string, flags as `false`. */
function fieldValue(object: KubeObject, path: string): string {
  if (path === 'source') return String(record(object.source).component ?? '');
  let value: unknown = object;
  for (const part of path.split('.')) value = record(value)[part];
  if (path === 'status.successful') return String(record(object.status).succeeded ?? 0);
  if (path === 'spec.unschedulable' || path === 'spec.hostNetwork') return String(value ?? false);
  return value === undefined || value === null ? '' : String(value);
}

/** The value of `metadata.name=` in a field selector, so that a list can become the read of one key. */
export function nameOfFieldSelector(fieldSelector: string | undefined): string | undefined {
  return fieldSelector === undefined
    ? undefined
    : /(?:^|,)metadata\.name==?([^,=!]+)(?:,|$)/.exec(fieldSelector)?.[1];
}
