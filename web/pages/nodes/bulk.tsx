import { useState } from 'react';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { ActionButton } from '../../parts/action-button.tsx';
import { words } from '../../words/english.ts';
import type { NodeRow } from './rows.ts';
import { WindowDialog } from './window.tsx';

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
        <WindowDialog rows={rows} onClose={() => setAsking(undefined)} onDone={onDone} />
      ) : null}
      {asking === 'close' ? (
        <CloseDialog rows={open} onClose={() => setAsking(undefined)} onDone={onDone} />
      ) : null}
    </div>
  );
}

/** Asks before windows are closed. */
export function CloseDialog({
  rows,
  onClose,
  onDone,
}: {
  readonly rows: readonly NodeRow[];
  readonly onClose: () => void;
  readonly onDone?: () => void;
}) {
  return (
    <ActDialog
      action="closeWindow"
      title={said.close.title(rows.length, rows[0]?.name ?? '')}
      body={{ nodes: rows.map(({ name }) => name) }}
      onClose={onClose}
      onDone={() => onDone?.()}
    >
      <p>{said.close.what}</p>
    </ActDialog>
  );
}
