import { type LabelRequirement, meets } from '../api/selector.ts';
import { parseLabelSelector, selectorCharactersMax } from './label-selector.ts';
import { type KubeObject, record } from './object.ts';
import { badRequest } from './status.ts';

/** Whether an object is chosen; `text` is a quick look at its JSON that may only say "surely not". */
export interface Selector {
  /** False where the JSON text shows that the object cannot match; saves parsing it. */
  mayMatch(json: string): boolean;
  matches(object: KubeObject): boolean;
}

export const everything: Selector = { mayMatch: () => true, matches: () => true };

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
      labels.every((requirement) => meets(requirement, object.metadata.labels ?? {})) &&
      fields.every((field) => (fieldValue(object, field.key) === field.value) === field.equal),
  };
}

// What JSON.stringify writes for a member is in the text of every object that has it.
function labelNeedle({ key, operator, values = [] }: LabelRequirement): string[] {
  if (operator === 'NotIn' || operator === 'DoesNotExist') return [];
  const member = `${JSON.stringify(key)}:`;
  return operator === 'In' && values.length === 1 ? [member + JSON.stringify(values[0])] : [member];
}

function fieldNeedle(field: FieldRequirement): string[] {
  if (!field.equal || field.value === '' || field.value === 'false' || field.value === 'true') return [];
  return [JSON.stringify(field.value).slice(1, -1)];
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
      if (match === null) throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
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
