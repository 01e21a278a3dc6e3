import { Label } from '@patternfly/react-core/dist/dynamic/components/Label';
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon';
import ExclamationTriangleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-triangle-icon';
import InProgressIcon from '@patternfly/react-icons/dist/esm/icons/in-progress-icon';
import InfoCircleIcon from '@patternfly/react-icons/dist/esm/icons/info-circle-icon';
import PauseCircleIcon from '@patternfly/react-icons/dist/esm/icons/pause-circle-icon';
import type { ReactNode } from 'react';

/** How something stands, for colour and picture; the word beside it says the same. */
export type Tone = 'good' | 'working' | 'paused' | 'warning' | 'danger' | 'info' | 'plain';

const icons = {
  good: CheckCircleIcon,
  working: InProgressIcon,
  paused: PauseCircleIcon,
  warning: ExclamationTriangleIcon,
  danger: ExclamationCircleIcon,
  info: InfoCircleIcon,
} as const;

const colours = {
  good: 'green',
  working: 'blue',
  paused: 'grey',
  warning: 'orange',
  danger: 'red',
  info: 'purple',
  plain: 'grey',
} as const;

export function StatusLabel({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  const Icon = tone === 'plain' ? undefined : icons[tone];
  return (
    <Label
      color={colours[tone]}
      variant="outline"
      isCompact
      {...(Icon === undefined ? {} : { icon: <Icon /> })}
    >
      {children}
    </Label>
  );
}
