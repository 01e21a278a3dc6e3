import type { UpdatePreflightStatusCheck } from '../../../src/api/resources.ts';
import { StatusLabel, type Tone } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';
import { countResults, results } from './report.ts';

const said = words.preflight;

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
  return <StatusLabel tone={verdictTones[word] ?? 'plain'}>{said.verdicts[word] ?? word}</StatusLabel>;
}

/** The result of one check; a risk that does not block, or that was let through, is none to be afraid of. */
export function ResultLabel({ check }: { readonly check: UpdatePreflightStatusCheck }) {
  const { result, severity, accepted } = check;
  if (accepted === true) return <StatusLabel tone="warning">{said.accepted}</StatusLabel>;
  if (result === 'Risk' && severity === 'info') return <StatusLabel tone="info">{said.info}</StatusLabel>;
  if (result === 'Risk' && severity === 'warning')
    return <StatusLabel tone="warning">{said.warning}</StatusLabel>;
  return <ResultWord result={result} />;
}

const resultTones: Readonly<Record<string, Tone>> = {
  Passed: 'good',
  Risk: 'danger',
  Error: 'danger',
  Skipped: 'plain',
  Running: 'working',
};

export function ResultWord({ result }: { readonly result: string }) {
  return <StatusLabel tone={resultTones[result] ?? 'plain'}>{said.results[result] ?? result}</StatusLabel>;
}

/** How many checks came to which result, those that matter first. */
export function Counts({ checks }: { readonly checks: readonly UpdatePreflightStatusCheck[] }) {
  const counts = countResults(checks);
  const shown = results.filter((result) => counts[result] > 0);
  return (
    <span>
      {shown.length === 0 ? said.noChecks : shown.map((each) => said.count(counts[each], each)).join(', ')}
    </span>
  );
}
