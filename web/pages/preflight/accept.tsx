import { FormGroup } from '@patternfly/react-core/dist/dynamic/components/Form';
import { TextInput } from '@patternfly/react-core/dist/dynamic/components/TextInput';
import { useState } from 'react';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { words } from '../../words/english.ts';

const said = words.preflight.accept;

/** Lets one risk through by its name, with the reason that those read who come after. */
export function AcceptDialog({
  risk,
  message,
  version,
  onClose,
}: {
  readonly risk: string;
  readonly message: string;
  readonly version: string;
  readonly onClose: () => void;
}) {
  const [reason, setReason] = useState('');
  return (
    <ActDialog
      action="acceptRisk"
      title={said.title(risk)}
      body={{ version, risk, reason: reason.trim() }}
      onClose={onClose}
      danger
      unless={reason.trim() === '' ? said.reasonMissing : undefined}
    >
      <p className="sluice-said">{message}</p>
      <p>{said.what}</p>
      <FormGroup label={said.reason} fieldId="accept-reason" isRequired>
        <TextInput
          id="accept-reason"
          value={reason}
          onChange={(_, value) => setReason(value)}
          placeholder={said.example}
          isRequired
        />
      </FormGroup>
    </ActDialog>
  );
}
