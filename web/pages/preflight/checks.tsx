import { SearchInput } from '@patternfly/react-core/dist/dynamic/components/SearchInput';
import { ToggleGroup, ToggleGroupItem } from '@patternfly/react-core/dist/dynamic/components/ToggleGroup';
import { useState } from 'react';
import type { UpdatePreflight } from '../../../src/api/resources.ts';
import { type CheckState, countStates } from '../../data/checks.ts';
import { CheckTable } from '../../parts/check-table.tsx';
import { words } from '../../words/english.ts';
import { filterChecks, targetOf } from './report.ts';

const said = words.preflight;

/** The checks of a report, by their results and words. */
export function Checks({ object }: { readonly object: UpdatePreflight }) {
  const checks = object.status?.checks ?? [];
  const counts = countStates(checks);
  const [wanted, setWanted] = useState<ReadonlySet<CheckState>>(new Set());
  const [text, setText] = useState('');
  const shown = filterChecks(checks, wanted, text);
  const toggle = (state: CheckState) => {
    const next = new Set(wanted);
    if (!next.delete(state)) next.add(state);
    setWanted(next);
  };
  return (
    <>
      <div className="sluice-filter">
        <ToggleGroup aria-label={said.filterResults}>
          {[...counts].map(([state, count]) => (
            <ToggleGroupItem
              key={state}
              text={said.filterCount(words.checks.states[state], count)}
              buttonId={`result-${state}`}
              isSelected={wanted.has(state)}
              onChange={() => toggle(state)}
            />
          ))}
        </ToggleGroup>
        <SearchInput
          aria-label={said.find}
          placeholder={said.find}
          value={text}
          onChange={(_, value) => setText(value)}
          onClear={() => setText('')}
        />
      </div>
      <p className="sluice-small" role="status">
        {said.shown(shown.length, checks.length)}
      </p>
      {shown.length === 0 ? null : (
        <CheckTable
          checks={shown}
          release={{ version: targetOf(object), accepted: object.spec.acceptedRisks ?? [] }}
          label={said.checks}
        />
      )}
    </>
  );
}
