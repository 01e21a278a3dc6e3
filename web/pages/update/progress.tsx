import { Card, CardBody, CardTitle } from '@patternfly/react-core/dist/dynamic/components/Card';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table/dist/dynamic/components/Table';
import type { ClusterOperator } from '../../../src/api/resources.ts';
import { conditionOf, type Facts, situationOf } from '../../data/facts.ts';
import { Ago } from '../../parts/ago.tsx';
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
      <Card component="section" aria-labelledby="update-progress">
        <CardTitle component="h2" id="update-progress">
          {said.progress}
        </CardTitle>
        <CardBody className="sluice-stack-small">
          <p className="sluice-said">{conditionOf(facts.version, 'Progressing')?.message ?? ''}</p>
          <Way steps={stepsOf(facts)} />
        </CardBody>
      </Card>
      <Card component="section" aria-labelledby="update-operators">
        <CardTitle component="h2" id="update-operators">
          {said.operators}
        </CardTitle>
        <CardBody>
          <Table aria-labelledby="update-operators" variant="compact">
            <Thead>
              <Tr>
                <Th>{columns.name}</Th>
                <Th>{columns.state}</Th>
                <Th>{columns.version}</Th>
                <Th>{columns.message}</Th>
                <Th>{columns.since}</Th>
              </Tr>
            </Thead>
            <Tbody>
              {operators.map(({ operator, state }) => {
                const { name } = operator.metadata;
                const progressing = conditionOf(operator, 'Progressing');
                return (
                  <Tr key={name}>
                    <Td dataLabel={columns.name}>{name}</Td>
                    <Td dataLabel={columns.state}>
                      <StatusLabel tone={tones[state]}>{said.operatorStates[state]}</StatusLabel>
                    </Td>
                    <Td dataLabel={columns.version}>
                      {operator.status?.versions?.find((each) => each.name === 'operator')?.version ?? ''}
                    </Td>
                    <Td dataLabel={columns.message} modifier="breakWord">
                      {progressing?.message ?? ''}
                    </Td>
                    <Td dataLabel={columns.since}>
                      <Ago at={progressing?.lastTransitionTime} />
                    </Td>
                  </Tr>
                );
              })}
            </Tbody>
          </Table>
        </CardBody>
      </Card>
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
