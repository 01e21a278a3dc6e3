import { list, record } from '../object.ts';

/** Whether labels are chosen by a selector of an object (meta/v1 LabelSelector): none chooses nothing, an empty one all. */
export function matchesLabelSelector(selector: unknown, labels: Readonly<Record<string, string>>): boolean {
  if (selector === undefined || selector === null) return false;
  const { matchLabels, matchExpressions } = record(selector);
  for (const [key, value] of Object.entries(record(matchLabels))) {
    if (labels[key] !== value) return false;
  }
  return list(matchExpressions)
    .map(record)
    .every((expression) => holds(expression, labels));
}

function holds(expression: Record<string, unknown>, labels: Readonly<Record<string, string>>): boolean {
  const value = labels[String(expression.key)];
  const values = list(expression.values);
  switch (expression.operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return false;
  }
}
