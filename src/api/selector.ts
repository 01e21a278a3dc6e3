import type { LabelSelector } from './core.ts';

type Labels = Readonly<Record<string, string>>;

/** One condition on labels, as selectors and node affinities have them. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/** Whether labels fulfil a requirement; one with an operator that nobody knows is never fulfilled. */
export function meets({ key, operator, values = [] }: LabelRequirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return integer(value) > integer(values[0]);
    case 'Lt':
      return integer(value) < integer(values[0]);
    default:
      return false;
  }
}

/** NaN, which is neither more nor less than anything, where it is none. */
function integer(text: string | undefined): number {
  return /^[+-]?\d{1,15}$/.test(text ?? '') ? Number(text) : Number.NaN;
}

/** Whether a selector chooses these labels. An empty one chooses everything; an absent one nothing. */
export function selects(selector: LabelSelector | null | undefined, labels: Labels = {}): boolean {
  if (selector === null || selector === undefined) return false;
  const { matchLabels, matchExpressions } = selector;
  return (
    Object.entries(matchLabels ?? {}).every(([key, value]) => labels[key] === value) &&
    (matchExpressions ?? []).every((requirement) => meets(requirement, labels))
  );
}
