import type { LabelSelector } from '../api/core.ts';

type Labels = Readonly<Record<string, string>>;

/** Whether a selector chooses these labels. An empty one chooses everything; an absent one nothing. */
export function selects(selector: LabelSelector | null | undefined, labels: Labels = {}): boolean {
  if (selector === null || selector === undefined) return false;
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    if (labels[key] !== value) return false;
  }
  return (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
    const value = labels[key];
    switch (operator) {
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
  });
}
