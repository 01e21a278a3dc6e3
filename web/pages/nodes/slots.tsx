import { Card, CardBody, CardTitle } from '@patternfly/react-core/dist/dynamic/components/Card';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table/dist/dynamic/components/Table';
import { useState } from 'react';
import { Link } from '../../app/navigation.tsx';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { StatusLabel } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';
import type { Slot } from './rows.ts';

const said = words.nodes.slots;

/** Who may be away now, group by group. */
export function Slots({ slots }: { readonly slots: readonly Slot[] }) {
  const [leaving, setLeaving] = useState<Slot>();
  const { group, node, state, since, actions } = said.columns;
  return (
    <Card component="section" aria-labelledby="node-slots">
      <CardTitle component="h2" id="node-slots">
        {said.title}
      </CardTitle>
      <CardBody>
        <Table aria-labelledby="node-slots" variant="compact">
          <Thead>
            <Tr>
              <Th>{node}</Th>
              <Th>{group}</Th>
              <Th>{state}</Th>
              <Th>{since}</Th>
              <Th screenReaderText={actions} />
            </Tr>
          </Thead>
          <Tbody>
            {slots.map((slot) => (
              <Tr key={`${slot.group} ${slot.id}`} data-slot={slot.node}>
                <Td dataLabel={node} modifier="breakWord">
                  {slot.node === '' ? (
                    <code>{slot.id}</code>
                  ) : (
                    <Link to={{ page: 'nodes', name: slot.node }}>{slot.node}</Link>
                  )}
                </Td>
                <Td dataLabel={group}>{slot.group}</Td>
                <Td dataLabel={state}>
                  <StatusLabel tone="working">{said.states[slot.state] ?? slot.state}</StatusLabel>
                  <div className="sluice-small sluice-said">{slot.message}</div>
                </Td>
                <Td dataLabel={since}>
                  <Ago at={slot.since} />
                </Td>
                <Td dataLabel={actions} isActionCell>
                  <ActionButton
                    action="releaseLock"
                    variant="secondary"
                    isDanger
                    size="sm"
                    onClick={() => setLeaving(slot)}
                  />
                </Td>
              </Tr>
            ))}
          </Tbody>
        </Table>
      </CardBody>
      {leaving === undefined ? null : (
        <ActDialog
          action="releaseLock"
          title={said.releaseTitle(leaving.node || leaving.id)}
          body={{ group: leaving.group, holder: leaving.id }}
          onClose={() => setLeaving(undefined)}
          danger
        >
          <p>{said.releaseWhat}</p>
        </ActDialog>
      )}
    </Card>
  );
}
