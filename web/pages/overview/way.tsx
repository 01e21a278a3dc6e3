import {
  ProgressStep,
  ProgressStepper,
} from '@patternfly/react-core/dist/dynamic/components/ProgressStepper';
import PauseCircleIcon from '@patternfly/react-icons/dist/esm/icons/pause-circle-icon';
import { Ago } from '../../parts/ago.tsx';
import { useMedia } from '../../parts/use-media.ts';
import { words } from '../../words/english.ts';
import type { Step } from './steps.ts';

const variants = { done: 'success', current: 'info', waiting: 'pending', trouble: 'danger' } as const;

/** Pixels from which the steps stand side by side. */
const wide = '(min-width: 1200px)';

/** The way of an update as a path, with the step it is at, what it waits for and since when. */
export function Way({ steps }: { readonly steps: readonly Step[] }) {
  const isWide = useMedia(wide);
  const current = steps.find(({ state }) => state === 'current' || state === 'trouble');
  return (
    <div className="sluice-stack-small">
      <ProgressStepper isVertical={!isWide} aria-label={words.overview.path} className="sluice-way">
        {steps.map((step) => {
          const { name, state } = step;
          const isCurrent = step === current;
          return (
            <ProgressStep
              key={name}
              id={`step-${name}`}
              titleId={`step-title-${name}`}
              data-step={name}
              data-state={state}
              variant={variants[state]}
              isCurrent={isCurrent}
              {...(state === 'trouble' ? { icon: <PauseCircleIcon /> } : {})}
              aria-label={`${words.overview.steps[name]}: ${words.steps[state]}`}
              // Side by side there is no room for all that a cluster may say of where it is: it stands below.
              {...(isWide && isCurrent ? {} : { description: <Detail step={step} /> })}
            >
              {words.overview.steps[name]}
            </ProgressStep>
          );
        })}
      </ProgressStepper>
      {isWide && current !== undefined ? (
        <p className="sluice-way-current" data-current={current.name}>
          <strong>{words.overview.steps[current.name]}</strong> <Detail step={current} />
        </p>
      ) : null}
    </div>
  );
}

function Detail({ step: { detail, since } }: { readonly step: Step }) {
  return (
    <>
      <span className="sluice-said">{detail}</span>
      {since === undefined ? null : (
        <span className="sluice-since">
          {words.overview.since} <Ago at={since} />
        </span>
      )}
    </>
  );
}
