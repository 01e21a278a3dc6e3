import { FormGroup } from '@patternfly/react-core/dist/dynamic/components/Form';
import { FormSelect, FormSelectOption } from '@patternfly/react-core/dist/dynamic/components/FormSelect';
import { HelperText, HelperTextItem } from '@patternfly/react-core/dist/dynamic/components/HelperText';
import { TextInput } from '@patternfly/react-core/dist/dynamic/components/TextInput';
import { useState } from 'react';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { words } from '../../words/english.ts';

const said = words.releases.attach;

/** Shows a disk of a node's machine to the cluster. */
export function AttachDialog({
  nodes,
  onClose,
  onDone,
}: {
  readonly nodes: readonly string[];
  readonly onClose: () => void;
  readonly onDone: (answer: Record<string, unknown>) => void;
}) {
  const [node, setNode] = useState(nodes[0] ?? '');
  const [path, setPath] = useState('');
  return (
    <ActDialog
      action="attachMedia"
      title={said.title}
      body={{ node, path }}
      onClose={onClose}
      onDone={onDone}
      unless={path === '' ? said.pathMissing : undefined}
    >
      <p>{said.what}</p>
      <FormGroup label={said.node} fieldId="attach-node">
        <FormSelect id="attach-node" value={node} onChange={(_, value) => setNode(value)}>
          {nodes.map((each) => (
            <FormSelectOption key={each} value={each} label={each} />
          ))}
        </FormSelect>
      </FormGroup>
      <FormGroup label={said.path} fieldId="attach-path" isRequired>
        <TextInput
          id="attach-path"
          value={path}
          onChange={(_, value) => setPath(value)}
          placeholder={said.example}
          spellCheck={false}
          autoComplete="off"
          isRequired
        />
        <HelperText>
          <HelperTextItem>{said.pathHelp}</HelperTextItem>
        </HelperText>
      </FormGroup>
    </ActDialog>
  );
}
