import type { Finding, FindingResult, Severity } from './finding.ts';
import type { Known } from './known.ts';

/** The parts of a finding that a gate says; the rest is its own name. */
export interface Found {
  readonly severity?: Severity;
  readonly message: string;
  readonly next?: string;
  readonly objects?: readonly string[];
}

/**
 * The one finding of a gate that looks at a list: unknown is an Error, nothing wrong is Passed, the rest is a Risk.
 *
 * @param fact undefined where the cluster has nothing of the kind: then there is no finding at all.
 */
export function findingOf<T>(
  gate: { readonly name: string; readonly gate: string; readonly severity: Severity },
  fact: Known<T> | undefined,
  look: (value: T) => Found | { readonly well: string },
): Finding[] {
  if (fact === undefined) return [];
  const as = (result: FindingResult, found: Found): Finding => ({ ...gate, result, ...found });
  if (!fact.known) return [as('Error', { message: fact.why })];
  const found = look(fact.value);
  return [as('well' in found ? 'Passed' : 'Risk', 'well' in found ? { message: found.well } : found)];
}

const namesShown = 8;

/** Names in a sentence: of many, some, and how many more. */
export function listed(names: readonly string[], most = namesShown): string {
  const more = names.length - most;
  return more > 1 ? `${names.slice(0, most).join(', ')} and ${more} more` : names.join(', ');
}
