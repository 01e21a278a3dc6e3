import { useEffect } from 'react';
import type { ClusterOperator } from '../../../src/api/resources.ts';
import { conditionOf } from '../../data/facts.ts';
import { Ago } from '../../parts/ago.tsx';
import { Listing } from '../../parts/listing.tsx';
import { Section } from '../../parts/section.tsx';
import { StatusLabel, type Tone } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';

const said = words.update;

type OperatorState = keyof typeof said.operatorStates;

const tones: Readonly<Record<OperatorState, Tone>> = {
  unavailable: 'danger',
  degraded: 'danger',
  updating: 'working',
  waiting: 'plain',
  updated: 'good',
};
const order: readonly OperatorState[] = ['unavailable', 'degraded', 'updating', 'waiting', 'updated'];

/** Whose words say why it stands so. */
const conditionBehind: Readonly<Record<OperatorState, string>> = {
  unavailable: 'Available',
  degraded: 'Degraded',
  updating: 'Progressing',
  waiting: 'Progressing',
  updated: 'Progressing',
};

/**
 * Every operator, those that have trouble first.
 *
 * @param to the version that they report, or should. `sought` is marked, and brought into sight.
 */
export function Operators({
  operators,
  to,
  sought,
}: {
  readonly operators: readonly ClusterOperator[];
  readonly to: string;
  readonly sought: string | undefined;
}) {
  useEffect(() => {
    if (sought === undefined) return;
    document.querySelector(`[data-operator="${CSS.escape(sought)}"]`)?.scrollIntoView({ block: 'center' });
  }, [sought]);
  const columns = said.operatorColumns;
  const sorted = operators
    .map((operator) => ({ operator, state: operatorState(operator, to) }))
    .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  return (
    <Section id="update-operators" title={said.operators}>
      {sorted.length === 0 ? (
        <p>{words.overview.operatorsNone}</p>
      ) : (
        <>
          <Listing
            name={{ id: 'update-operators' }}
            columns={[
              columns.name,
              columns.state,
              columns.version,
              { text: columns.message, holds: 'words' },
              columns.since,
            ]}
            rows={sorted.map(({ operator, state }) => {
              const { name } = operator.metadata;
              const tells = conditionOf(operator, conditionBehind[state]);
              return {
                key: name,
                data: { 'data-operator': name },
                isMarked: name === sought,
                cells: [
                  name,
                  <StatusLabel key={columns.state} tone={tones[state]}>
                    {said.operatorStates[state]}
                  </StatusLabel>,
                  operator.status?.versions?.find((each) => each.name === 'operator')?.version,
                  tells?.message,
                  <Ago key={columns.since} at={tells?.lastTransitionTime} />,
                ],
              };
            })}
          />
          <p className="sluice-small">
            {said.operatorsNext} <code>{said.operatorsCommand}</code>
          </p>
        </>
      )}
    </Section>
  );
}

function operatorState(operator: ClusterOperator, to: string): OperatorState {
  if (conditionOf(operator, 'Available')?.status === 'False') return 'unavailable';
  if (conditionOf(operator, 'Degraded')?.status === 'True') return 'degraded';
  if (
    operator.status?.versions?.some(({ name, version }) => name === 'operator' && version === to) === true
  ) {
    return 'updated';
  }
  return conditionOf(operator, 'Progressing')?.status === 'True' ? 'updating' : 'waiting';
}
