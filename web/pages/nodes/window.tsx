import { Checkbox } from '@patternfly/react-core/dist/dynamic/components/Checkbox';
import { FormGroup } from '@patternfly/react-core/dist/dynamic/components/Form';
import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/dynamic/components/FormSelect';
import { useState } from 'react';
import { useNow } from '../../data/hooks.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { words } from '../../words/english.ts';
import { formatExact, formatSpan } from '../../words/format.ts';
import type { NodeRow } from './rows.ts';

const said = words.nodes.open;
const hourMs = 3600_000;
const spans = [hourMs / 2, hourMs, 2 * hourMs, 4 * hourMs, 8 * hourMs, 24 * hourMs];

/** Lets nodes reboot for a while. */
export function WindowDialog({
  rows,
  onClose,
  onDone,
}: {
  readonly rows: readonly NodeRow[];
  readonly onClose: () => void;
  readonly onDone?: () => void;
}) {
  const now = useNow(30_000);
  const [span, setSpan] = useState(2 * hourMs);
  const [once, setOnce] = useState(false);
  const [only, setOnly] = useState(false);
  const staged = [...new Set(rows.map((row) => row.staged))];
  const [release = ''] = staged.length === 1 ? staged : [];
  const notAfter = new Date(Math.floor((now + span) / 1000) * 1000).toISOString().replace('.000Z', 'Z');
  return (
    <ActDialog
      action="openWindow"
      title={said.title(rows.length, rows[0]?.name ?? '')}
      body={{
        nodes: rows.map(({ name }) => name),
        notAfter,
        once,
        ...(only && release !== '' ? { release } : {}),
      }}
      onClose={onClose}
      onDone={() => onDone?.()}
    >
      <p>{said.what}</p>
      <FormGroup label={said.span} fieldId="window-span">
        <FormSelect id="window-span" value={span} onChange={(_, value) => setSpan(Number(value))}>
          {spans.map((each) => (
            <FormSelectOption key={each} value={each} label={formatSpan(each)} />
          ))}
        </FormSelect>
      </FormGroup>
      <p className="sluice-small">{said.until(formatExact(Date.parse(notAfter)))}</p>
      <Checkbox id="window-once" label={said.once} isChecked={once} onChange={(_, value) => setOnce(value)} />
      {release === '' ? null : (
        <Checkbox
          id="window-only"
          label={said.only(release)}
          isChecked={only}
          onChange={(_, value) => setOnly(value)}
        />
      )}
    </ActDialog>
  );
}
