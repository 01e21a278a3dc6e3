import { useState } from 'react';
import { ActionButton } from '../../parts/action-button.tsx';
import { CloseWindowDialog, OpenWindowDialog } from '../../parts/window-dialog.tsx';
import { words } from '../../words/english.ts';
import { type NodeRow, stagedByAll } from './rows.ts';

const said = words.nodes;

/** What can be done with the nodes that were chosen. */
export function Bulk({ rows, onDone }: { readonly rows: readonly NodeRow[]; readonly onDone: () => void }) {
  const [asking, setAsking] = useState<'open' | 'close'>();
  const open = rows.filter(({ window }) => window !== undefined);
  return (
    <div className="sluice-filter" data-bulk>
      <span role="status">{rows.length === 0 ? said.chooseSome : said.chosen(rows.length)}</span>
      <ActionButton
        action="openWindow"
        variant="primary"
        size="sm"
        unless={rows.length === 0 ? said.chooseSome : undefined}
        onClick={() => setAsking('open')}
      />
      <ActionButton
        action="closeWindow"
        variant="secondary"
        size="sm"
        unless={open.length === 0 ? said.noWindow : undefined}
        onClick={() => setAsking('close')}
      />
      {asking === 'open' ? (
        <OpenWindowDialog
          nodes={rows.map(({ name }) => name)}
          release={stagedByAll(rows)}
          onClose={() => setAsking(undefined)}
          onDone={onDone}
        />
      ) : null}
      {asking === 'close' ? (
        <CloseWindowDialog
          nodes={open.map(({ name }) => name)}
          onClose={() => setAsking(undefined)}
          onDone={onDone}
        />
      ) : null}
    </div>
  );
}
