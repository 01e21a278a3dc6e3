import { Checkbox } from '@patternfly/react-core/dist/dynamic/components/Checkbox';
import { FormGroup } from '@patternfly/react-core/dist/dynamic/components/Form';
import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/dynamic/components/FormSelect';
import { TextInput } from '@patternfly/react-core/dist/dynamic/components/TextInput';
import { useState } from 'react';
import { useNow } from '../data/hooks.ts';
import { words } from '../words/english.ts';
import { formatExact } from '../words/format.ts';
import { ActDialog } from './act-dialog.tsx';

const said = words.window;

const hourMs = 3_600_000;
/** What most people want; any other end is written as a time. */
const choices: readonly number[] = [1, 2, 4, 8, 24];
const custom = 'custom';
const namesShown = 10;

/** Lets nodes reboot until a time. Their users, programs and reboot slots still hold them. */
export function OpenWindowDialog({
  nodes,
  onClose,
}: {
  readonly nodes: readonly string[];
  readonly onClose: () => void;
}) {
  const now = useNow(30_000);
  const [choice, setChoice] = useState(String(choices[1]));
  const [until, setUntil] = useState('');
  const [once, setOnce] = useState(true);
  const end = choice === custom ? Date.parse(until) : now + Number(choice) * hourMs;
  const isValid = !Number.isNaN(end) && end > now;
  return (
    <ActDialog
      action="openWindow"
      title={said.openTitle(nodes.length)}
      body={{ nodes, once, ...(isValid ? { notAfter: `${new Date(end).toISOString().slice(0, 19)}Z` } : {}) }}
      onClose={onClose}
      unless={isValid ? undefined : said.untilMissing}
    >
      <p>{said.openWhat}</p>
      <p className="sluice-small">{namesOf(nodes)}</p>
      <FormGroup label={said.howLong} fieldId="window-choice">
        <FormSelect id="window-choice" value={choice} onChange={(_, value) => setChoice(value)}>
          {choices.map((hours) => (
            <FormSelectOption key={hours} value={String(hours)} label={said.hours(hours)} />
          ))}
          <FormSelectOption value={custom} label={said.custom} />
        </FormSelect>
      </FormGroup>
      {choice === custom ? (
        <FormGroup label={said.until} fieldId="window-until" isRequired>
          <TextInput
            id="window-until"
            type="datetime-local"
            value={until}
            onChange={(_, value) => setUntil(value)}
            isRequired
          />
        </FormGroup>
      ) : null}
      {isValid ? <p className="sluice-small">{said.ends(formatExact(end))}</p> : null}
      <Checkbox
        id="window-once"
        label={said.once}
        description={said.onceWhat}
        isChecked={once}
        onChange={(_, checked) => setOnce(checked)}
      />
    </ActDialog>
  );
}

/** Takes the permission back. */
export function CloseWindowDialog({
  nodes,
  onClose,
}: {
  readonly nodes: readonly string[];
  readonly onClose: () => void;
}) {
  return (
    <ActDialog action="closeWindow" title={said.closeTitle(nodes.length)} body={{ nodes }} onClose={onClose}>
      <p>{said.closeWhat}</p>
      <p className="sluice-small">{namesOf(nodes)}</p>
    </ActDialog>
  );
}

function namesOf(nodes: readonly string[]): string {
  const shown = nodes.slice(0, namesShown).join(', ');
  return nodes.length <= namesShown ? shown : `${shown} ${words.count.more(nodes.length - namesShown)}`;
}
