import {
  ProgressStep,
  ProgressStepper,
} from '@patternfly/react-core/dist/dynamic/components/ProgressStepper';
import PauseCircleIcon from '@patternfly/react-icons/dist/esm/icons/pause-circle-icon';
import { Ago } from '../../parts/ago.tsx';
import { words } from '../../words/english.ts';
import type { Step } from './steps.ts';

const variants = { done: 'success', current: 'info', waiting: 'pending', trouble: 'danger' } as const;

/** The way of an update as a path, with the step it is at. */
export function Way({ steps }: { readonly steps: readonly Step[] }) {
  return (
    <ProgressStepper isVertical aria-label={words.overview.path} className="sluice-way">
      {steps.map(({ name, state, detail, since }) => (
        <ProgressStep
          key={name}
          id={`step-${name}`}
          titleId={`step-title-${name}`}
          data-step={name}
          data-state={state}
          variant={variants[state]}
          isCurrent={state === 'current' || state === 'trouble'}
          {...(state === 'trouble' ? { icon: <PauseCircleIcon /> } : {})}
          aria-label={`${words.overview.steps[name]}: ${words.steps[state]}`}
          description={
            <>
              <span className="sluice-said">{detail}</span>
              {since === undefined ? null : (
                <span className="sluice-since">
                  {words.overview.since} <Ago at={since} />
                </span>
              )}
            </>
          }
        >
          {words.overview.steps[name]}
        </ProgressStep>
      ))}
    </ProgressStepper>
  );
}
