import type { ClusterOperator } from '../../../src/api/resources.ts';
import { conditionOf, type Facts, situationOf } from '../../data/facts.ts';
import { Ago } from '../../parts/ago.tsx';
import { Listing } from '../../parts/listing.tsx';
import { Section } from '../../parts/section.tsx';
import { StatusLabel, type Tone } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';
import { stepsOf } from '../overview/steps.ts';
import { Way } from '../overview/way.tsx';

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

/** An update that is under way: the step it is at, what it waits for, and each operator. */
export function Progress({ facts }: { readonly facts: Facts }) {
  const situation = situationOf(facts);
  if (situation.kind !== 'updating' && situation.kind !== 'installing') return null;
  const { to } = situation;
  const columns = said.operatorColumns;
  const operators = facts.operators
    .map((operator) => ({ operator, state: operatorState(operator, to) }))
    .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  return (
    <>
      <Section id="update-progress" title={said.progress}>
        <Way steps={stepsOf(facts)} />
      </Section>
      <Section id="update-operators" title={said.operators}>
        <Listing
          name={{ id: 'update-operators' }}
          columns={[
            columns.name,
            columns.state,
            columns.version,
            { text: columns.message, holds: 'words' },
            columns.since,
          ]}
          rows={operators.map(({ operator, state }) => {
            const progressing = conditionOf(operator, 'Progressing');
            return {
              key: operator.metadata.name,
              data: { 'data-operator': operator.metadata.name },
              cells: [
                operator.metadata.name,
                <StatusLabel key={columns.state} tone={tones[state]}>
                  {said.operatorStates[state]}
                </StatusLabel>,
                operator.status?.versions?.find(({ name }) => name === 'operator')?.version,
                progressing?.message,
                <Ago key={columns.since} at={progressing?.lastTransitionTime} />,
              ],
            };
          })}
        />
      </Section>
    </>
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
