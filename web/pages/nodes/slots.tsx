import { useState } from 'react';
import { Link } from '../../app/navigation.tsx';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { Listing } from '../../parts/listing.tsx';
import { Section } from '../../parts/section.tsx';
import { StatusLabel } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';
import type { Slot } from './rows.ts';

const said = words.nodes.slots;

/** Who may be away now, group by group. */
export function Slots({ slots }: { readonly slots: readonly Slot[] }) {
  const [leaving, setLeaving] = useState<Slot>();
  const { group, node, state, since, actions } = said.columns;
  return (
    <Section id="node-slots" title={said.title}>
      <Listing
        name={{ id: 'node-slots' }}
        columns={[{ text: node, holds: 'words' }, group, state, since, { text: actions, holds: 'actions' }]}
        rows={slots.map((slot) => ({
          key: `${slot.group} ${slot.id}`,
          data: { 'data-slot': slot.node },
          cells: [
            slot.node === '' ? (
              <code key={node}>{slot.id}</code>
            ) : (
              <Link key={node} to={{ page: 'nodes', name: slot.node }}>
                {slot.node}
              </Link>
            ),
            slot.group,
            <div key={state}>
              <StatusLabel tone="working">{said.states[slot.state] ?? slot.state}</StatusLabel>
              <div className="sluice-small sluice-said">{slot.message}</div>
            </div>,
            <Ago key={since} at={slot.since} />,
            <ActionButton
              key={actions}
              action="releaseLock"
              variant="secondary"
              isDanger
              size="sm"
              onClick={() => setLeaving(slot)}
            />,
          ],
        }))}
      />
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
    </Section>
  );
}
