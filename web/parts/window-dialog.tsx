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

interface WindowDialogProps {
  readonly nodes: readonly string[];
  readonly onClose: () => void;
  readonly onDone?: () => void;
}

/**
 * Lets nodes reboot until a time. Their users, programs and reboot slots still hold them.
 *
 * @param release the version that all of them have staged; undefined where they differ, or nothing is.
 */
export function OpenWindowDialog({
  nodes,
  release,
  onClose,
  onDone,
}: WindowDialogProps & { readonly release?: string | undefined }) {
  const now = useNow(30_000);
  const [choice, setChoice] = useState(String(choices[1]));
  const [until, setUntil] = useState('');
  const [once, setOnce] = useState(true);
  const [only, setOnly] = useState(false);
  const end = choice === custom ? Date.parse(until) : now + Number(choice) * hourMs;
  const isValid = !Number.isNaN(end) && end > now;
  return (
    <ActDialog
      action="openWindow"
      title={said.openTitle(nodes)}
      body={{
        nodes,
        once,
        ...(isValid ? { notAfter: `${new Date(end).toISOString().slice(0, 19)}Z` } : {}),
        ...(only && release !== undefined ? { release } : {}),
      }}
      onClose={onClose}
      onDone={() => onDone?.()}
      unless={isValid ? undefined : said.untilMissing}
    >
      <p>{said.openWhat}</p>
      <Names nodes={nodes} />
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
      {release === undefined ? null : (
        <Checkbox
          id="window-only"
          label={said.only(release)}
          description={said.onlyWhat}
          isChecked={only}
          onChange={(_, checked) => setOnly(checked)}
        />
      )}
    </ActDialog>
  );
}

/** Takes the permission back. */
export function CloseWindowDialog({ nodes, onClose, onDone }: WindowDialogProps) {
  return (
    <ActDialog
      action="closeWindow"
      title={said.closeTitle(nodes)}
      body={{ nodes }}
      onClose={onClose}
      onDone={() => onDone?.()}
    >
      <p>{said.closeWhat}</p>
      <Names nodes={nodes} />
    </ActDialog>
  );
}

/** Which nodes, where the title does not say so already. */
function Names({ nodes }: { readonly nodes: readonly string[] }) {
  if (nodes.length === 1) return null;
  return <p className="sluice-small">{words.count.listed(nodes, namesShown)}</p>;
}
