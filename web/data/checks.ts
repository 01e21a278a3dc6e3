import type { UpdatePreflightStatusCheck } from '../../src/api/resources.ts';
import { wayThrough } from '../../src/gates/finding.ts';

/** How a check stands for a person: five results, and what acceptance makes of a risk. */
export type CheckState =
  | 'passed'
  | 'risk'
  | 'warning'
  | 'info'
  | 'error'
  | 'accepted'
  | 'skipped'
  | 'running';

/** Those that stand in the way first, then what is to know, then what is in order. */
export const checkStates: readonly CheckState[] = [
  'error',
  'risk',
  'running',
  'warning',
  'accepted',
  'info',
  'skipped',
  'passed',
];

export function checkStateOf(check: UpdatePreflightStatusCheck): CheckState {
  const { result, severity = 'blocking', accepted } = check;
  switch (result) {
    case 'Passed':
      return 'passed';
    case 'Skipped':
      return 'skipped';
    case 'Running':
      return 'running';
    case 'Risk':
      if (accepted === true) return 'accepted';
      return severity === 'blocking' ? 'risk' : severity;
    case 'Error':
      if (accepted === true) return 'accepted';
      return severity === 'blocking' ? 'error' : severity;
  }
}

/** How many checks stand how, in the order of `checkStates`; states that none has are left out. */
export function countStates(checks: readonly UpdatePreflightStatusCheck[]): ReadonlyMap<CheckState, number> {
  const found = checks.map(checkStateOf);
  return new Map(
    checkStates.flatMap((state) => {
      const count = found.filter((each) => each === state).length;
      return count === 0 ? [] : [[state, count]];
    }),
  );
}

/** Whether it stands against an update now. */
export function isBlocking(check: UpdatePreflightStatusCheck): boolean {
  const state = checkStateOf(check);
  return state === 'risk' || state === 'error';
}

/** Whether a person may take it by its name: errors and what is about the integrity of content cannot be. */
export function isAcceptable(check: UpdatePreflightStatusCheck): boolean {
  return checkStateOf(check) === 'risk' && wayThrough(check) === 'acceptance';
}

/** Worst first; those of one state in the order of their names. */
export function sortChecks(checks: readonly UpdatePreflightStatusCheck[]): UpdatePreflightStatusCheck[] {
  const rank = (check: UpdatePreflightStatusCheck) => checkStates.indexOf(checkStateOf(check));
  return [...checks].sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}
