import { Button } from '@patternfly/react-core/dist/dynamic/components/Button';
import { Form } from '@patternfly/react-core/dist/dynamic/components/Form';
import {
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
} from '@patternfly/react-core/dist/dynamic/components/Modal';
import { type FormEvent, type ReactNode, useId } from 'react';
import type { ActionName } from '../../src/console/answers.ts';
import { useAct } from '../data/use-act.ts';
import { words } from '../words/english.ts';
import { ActionButton } from './action-button.tsx';
import { Failed } from './failed.tsx';

/** Asks once more, or for what an action needs; closes when it is done, and says what went wrong. */
export function ActDialog({
  action,
  title,
  body,
  onClose,
  onDone,
  unless,
  danger = false,
  submit,
  children,
}: {
  readonly action: ActionName;
  readonly title: string;
  /** What the action is given. */
  readonly body: object;
  readonly onClose: () => void;
  readonly onDone?: (answer: Record<string, unknown>) => void;
  /** Why it cannot be done yet: something is not filled in. */
  readonly unless?: string | undefined;
  readonly danger?: boolean;
  readonly submit?: string;
  readonly children: ReactNode;
}) {
  const { act, busy, failure } = useAct(action);
  const id = useId();
  const run = async (event: FormEvent) => {
    event.preventDefault();
    if (unless !== undefined || busy) return;
    const answer = await act(body);
    if (answer === undefined) return;
    onDone?.(answer);
    onClose();
  };
  return (
    <Modal
      isOpen
      variant="medium"
      onClose={onClose}
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-body`}
    >
      <ModalHeader
        title={title}
        labelId={`${id}-title`}
        {...(danger ? { titleIconVariant: 'warning' } : {})}
      />
      <ModalBody id={`${id}-body`}>
        <Form id={`${id}-form`} onSubmit={run}>
          {children}
          <Failed failure={failure} />
        </Form>
      </ModalBody>
      <ModalFooter>
        <ActionButton
          action={action}
          unless={unless}
          variant={danger ? 'danger' : 'primary'}
          type="submit"
          form={`${id}-form`}
          isLoading={busy}
        >
          {submit ?? words.action.names[action]}
        </ActionButton>
        <Button variant="link" onClick={onClose}>
          {words.action.cancel}
        </Button>
      </ModalFooter>
    </Modal>
  );
}
