import { Button, type ButtonProps } from '@patternfly/react-core/dist/dynamic/components/Button';
import { Tooltip } from '@patternfly/react-core/dist/dynamic/components/Tooltip';
import type { ActionName, Right } from '../../src/console/answers.ts';
import { useRight } from '../data/hooks.ts';
import { words } from '../words/english.ts';

/** Why a button may not be pressed, in words; undefined where it may. */
export function whyNot(right: Right): string | undefined {
  if (right.allowed) return undefined;
  switch (right.lacks) {
    case 'right':
      return words.action.lacksRight(right.what);
    case 'answer':
      return words.action.lacksAnswer(right.what);
    case 'machine':
      return words.action.lacksMachine;
  }
}

interface ActionButtonProps extends Omit<ButtonProps, 'isDisabled' | 'ref'> {
  readonly action: ActionName;
  /** Why it makes no sense now, whatever the rights are. */
  readonly unless?: string | undefined;
}

/** The button of an action. One that may not be pressed stays in the tab order and says why. */
export function ActionButton({ action, unless, children, ...rest }: ActionButtonProps) {
  const why = whyNot(useRight(action)) ?? unless;
  const button = (
    <Button {...rest} isAriaDisabled={why !== undefined} data-action={action}>
      {children ?? words.action.names[action]}
    </Button>
  );
  return why === undefined ? button : <Tooltip content={why}>{button}</Tooltip>;
}
