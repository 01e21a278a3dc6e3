import { Label } from '@patternfly/react-core/dist/dynamic/components/Label';
import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import { SearchInput } from '@patternfly/react-core/dist/dynamic/components/SearchInput';
import { ToggleGroup, ToggleGroupItem } from '@patternfly/react-core/dist/dynamic/components/ToggleGroup';
import ServerIcon from '@patternfly/react-icons/dist/esm/icons/server-icon';
import { useMemo, useState } from 'react';
import { useNavigation } from '../../app/navigation.tsx';
import type { Facts } from '../../data/facts.ts';
import { useNow } from '../../data/hooks.ts';
import { useFacts } from '../../data/use-facts.ts';
import { Known, Nothing } from '../../parts/known.tsx';
import { PageHead, Statement } from '../../parts/page-head.tsx';
import { words } from '../../words/english.ts';
import { Bulk } from './bulk.tsx';
import { Calendar } from './calendar.tsx';
import { NodeDetail } from './node-detail.tsx';
import { NodeTable } from './node-table.tsx';
import {
  countStates,
  filterNodes,
  type NodeRow,
  type NodeState,
  nodeRows,
  nodeStates,
  readFilter,
  slotsOf,
} from './rows.ts';
import { Slots } from './slots.tsx';

const said = words.nodes;

/** Every node with what holds it, their week, and one node in full. */
export function Nodes({
  name,
  view,
  filter,
}: {
  readonly name: string | undefined;
  readonly view: 'calendar' | undefined;
  readonly filter: string | undefined;
}) {
  return name === undefined ? <NodeList view={view} filter={filter} /> : <NodeDetail name={name} />;
}

/** Windows end by the clock, not by a change in the cluster: looked at again this often. */
const lookMs = 10_000;

function NodeList({
  view,
  filter,
}: {
  readonly view: 'calendar' | undefined;
  readonly filter: string | undefined;
}) {
  const { facts, of } = useFacts();
  const { go } = useNavigation();
  const now = useNow(lookMs);
  const rows = useMemo(() => nodeRows(facts, now), [facts, now]);
  const known = { NodeUpdate: of.NodeUpdate, Node: of.Node, FleetLockGroup: of.FleetLockGroup } as Required<
    typeof of
  >;
  const show = (next: 'calendar' | undefined) =>
    go({
      page: 'nodes',
      ...(next === undefined ? {} : { view: next }),
      ...(filter === undefined ? {} : { filter }),
    });
  return (
    <>
      <PageHead
        title={said.title}
        subtitle={
          <Known quiet of={known}>
            {() => <Statement>{statementOf(rows)}</Statement>}
          </Known>
        }
        actions={
          <ToggleGroup aria-label={said.view}>
            <ToggleGroupItem
              text={said.table}
              buttonId="view-table"
              isSelected={view === undefined}
              onChange={() => show(undefined)}
            />
            <ToggleGroupItem
              text={said.calendar}
              buttonId="view-calendar"
              isSelected={view === 'calendar'}
              onChange={() => show('calendar')}
            />
          </ToggleGroup>
        }
      />
      <Known of={known}>
        {() => (
          <PageSection hasBodyWrapper={false} className="sluice-stack">
            {rows.length === 0 ? (
              <Nothing title={said.none} icon={ServerIcon}>
                {said.noneNext}
              </Nothing>
            ) : view === 'calendar' ? (
              <Calendar updates={facts.updates} />
            ) : (
              <List rows={rows} facts={facts} filter={filter} />
            )}
          </PageSection>
        )}
      </Known>
    </>
  );
}

function statementOf(rows: readonly NodeRow[]): string {
  const counts = countStates(rows);
  const parts = nodeStates.flatMap((state) => {
    const count = counts.get(state) ?? 0;
    return count === 0 ? [] : [said.counted[state](count)];
  });
  return said.statement(rows.length, parts);
}

function List({
  rows,
  facts,
  filter,
}: {
  readonly rows: readonly NodeRow[];
  readonly facts: Facts;
  readonly filter: string | undefined;
}) {
  const { go } = useNavigation();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const counts = countStates(rows);
  const narrowed = readFilter(filter);
  const state = narrowed.kind === 'state' ? narrowed.state : undefined;
  const shown = filterNodes(rows, narrowed, text);
  const slots = slotsOf(facts.locks);
  const filterBy = (next: NodeState | undefined) =>
    go({ page: 'nodes', ...(next === undefined ? {} : { filter: next }) }, { replace: true });
  return (
    <>
      {slots.length === 0 ? null : <Slots slots={slots} />}
      <section className="sluice-stack-small" aria-label={said.title}>
        <div className="sluice-filter">
          <ToggleGroup aria-label={said.filter}>
            {nodeStates
              .filter((each) => (counts.get(each) ?? 0) > 0)
              .map((each) => (
                <ToggleGroupItem
                  key={each}
                  text={said.filterCount(said.states[each], counts.get(each) ?? 0)}
                  buttonId={`state-${each}`}
                  isSelected={state === each}
                  onChange={() => filterBy(state === each ? undefined : each)}
                />
              ))}
          </ToggleGroup>
          {narrowed.kind === 'gate' ? (
            <Label
              onClose={() => filterBy(undefined)}
              closeBtnAriaLabel={said.showAll}
              data-gate={narrowed.gate}
            >
              {said.heldBy(words.gates[narrowed.gate] ?? narrowed.gate)}
            </Label>
          ) : null}
          <SearchInput
            aria-label={said.find}
            placeholder={said.find}
            value={text}
            onChange={(_, value) => setText(value)}
            onClear={() => setText('')}
          />
        </div>
        <Bulk rows={rows.filter(({ name }) => chosen.has(name))} onDone={() => setChosen(new Set())} />
        <NodeTable rows={shown} chosen={chosen} onChoose={setChosen} />
      </section>
    </>
  );
}
