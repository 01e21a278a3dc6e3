import { Label } from '@patternfly/react-core/dist/dynamic/components/Label';
import InProgressIcon from '@patternfly/react-icons/dist/esm/icons/in-progress-icon';
import PauseCircleIcon from '@patternfly/react-icons/dist/esm/icons/pause-circle-icon';
import type { ReactNode } from 'react';

/** How something stands, for colour and picture; the word beside it says the same. */
export type Tone = 'good' | 'working' | 'paused' | 'warning' | 'danger' | 'info' | 'plain';

const looks = {
  good: { status: 'success' },
  working: { color: 'blue', icon: <InProgressIcon /> },
  paused: { color: 'grey', icon: <PauseCircleIcon /> },
  warning: { status: 'warning' },
  danger: { status: 'danger' },
  info: { status: 'info' },
  plain: { color: 'grey' },
} as const satisfies Record<Tone, object>;

export function StatusLabel({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <Label variant="outline" isCompact {...looks[tone]}>
      {children}
    </Label>
  );
}
