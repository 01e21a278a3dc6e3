import type { UpdatePreflightStatusCheck } from '../../../src/api/resources.ts';
import { countStates } from '../../data/checks.ts';
import { StatusLabel, type Tone } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';

const verdictTones: Readonly<Record<string, Tone>> = {
  Passed: 'good',
  Blocked: 'danger',
  Incomplete: 'warning',
  Running: 'working',
  Superseded: 'plain',
};

/** What came of a run. */
export function VerdictLabel({ verdict }: { readonly verdict: string | undefined }) {
  const word = verdict ?? 'Waiting';
  return (
    <StatusLabel tone={verdictTones[word] ?? 'plain'}>{words.preflight.verdicts[word] ?? word}</StatusLabel>
  );
}

/** How many checks came to which result, those that matter first. */
export function Counts({ checks }: { readonly checks: readonly UpdatePreflightStatusCheck[] }) {
  const said = words.checks;
  const counts = [...countStates(checks)];
  if (counts.length === 0) return said.none;
  return counts.map(([state, count]) => said.count(count, said.states[state].toLowerCase())).join(', ');
}
