import { FormGroup } from '@patternfly/react-core/dist/dynamic/components/Form';
import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/dynamic/components/FormSelect';
import { useState } from 'react';
import { newestFirst } from '../../../src/gates/version.ts';
import { bundlesOf } from '../../../src/release/known.ts';
import type { Facts } from '../../data/facts.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { words } from '../../words/english.ts';

const said = words.preflight.run;

/** Asks which release is to be looked at. */
export function RunDialog({
  facts,
  onClose,
  onDone,
}: {
  readonly facts: Facts;
  readonly onClose: () => void;
  readonly onDone: (answer: Record<string, unknown>) => void;
}) {
  const runs = facts.version?.status?.desired.version;
  const versions = bundlesOf(facts.updates)
    .map(({ version }) => version)
    .filter((version) => version !== runs)
    .sort(newestFirst);
  const [version, setVersion] = useState(versions[0] ?? '');
  return (
    <ActDialog
      action="runPreflight"
      title={said.title}
      body={{ version }}
      onClose={onClose}
      onDone={onDone}
      unless={version === '' ? said.nothing : undefined}
    >
      <p>{said.what}</p>
      {versions.length === 0 ? (
        <p>{said.nothing}</p>
      ) : (
        <FormGroup label={said.release} fieldId="preflight-release">
          <FormSelect id="preflight-release" value={version} onChange={(_, value) => setVersion(value)}>
            {versions.map((each) => (
              <FormSelectOption key={each} value={each} label={each} />
            ))}
          </FormSelect>
        </FormGroup>
      )}
    </ActDialog>
  );
}
