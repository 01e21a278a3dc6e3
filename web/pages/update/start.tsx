import { FormGroup } from '@patternfly/react-core/dist/dynamic/components/Form';
import { TextInput } from '@patternfly/react-core/dist/dynamic/components/TextInput';
import { useState } from 'react';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { words } from '../../words/english.ts';

const said = words.update;

interface StartProps {
  readonly version: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function StartDialog({ version, onClose, onDone }: StartProps) {
  return (
    <ActDialog
      action="startUpdate"
      title={said.startTitle(version)}
      body={{ version }}
      onClose={onClose}
      onDone={onDone}
    >
      <p>{said.startWhat}</p>
      <p>{said.startMinor}</p>
    </ActDialog>
  );
}

/** Forcing needs the version typed: nobody does it by a slip of the hand. */
export function ForceDialog({ version, onClose, onDone }: StartProps) {
  const [typed, setTyped] = useState('');
  return (
    <ActDialog
      action="startUpdate"
      title={said.forceTitle(version)}
      body={{ version, force: true, typedVersion: typed }}
      onClose={onClose}
      onDone={onDone}
      danger
      submit={said.force}
      unless={typed === version ? undefined : said.forceMissing}
    >
      <p>{said.forceWhat}</p>
      <FormGroup label={said.forceType(version)} fieldId="force-version" isRequired>
        <TextInput
          id="force-version"
          value={typed}
          onChange={(_, value) => setTyped(value)}
          autoComplete="off"
          spellCheck={false}
          isRequired
        />
      </FormGroup>
    </ActDialog>
  );
}
