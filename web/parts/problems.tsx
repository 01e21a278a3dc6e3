import { Alert, AlertActionLink } from '@patternfly/react-core/dist/dynamic/components/Alert';
import { useState } from 'react';
import { useLink } from '../app/navigation.tsx';
import type { Route } from '../app/route.ts';
import { useRight } from '../data/hooks.ts';
import type { Problem } from '../data/problem.ts';
import { words } from '../words/english.ts';
import { whyNot } from './action-button.tsx';
import { Ago } from './ago.tsx';
import { OpenWindowDialog } from './window-dialog.tsx';

/** Problems, worst first, each with its next step. */
export function Problems({ problems }: { readonly problems: readonly Problem[] }) {
  const [opening, setOpening] = useState<Extract<Problem['next'], { window: unknown }>>();
  const why = whyNot(useRight('openWindow'));
  return (
    <>
      <ul className="sluice-problems">
        {problems.map((problem) => {
          const { id, level, title, detail, since, next } = problem;
          return (
            <li key={id}>
              <Alert
                isInline
                variant={level}
                title={title}
                component="h3"
                data-problem={id}
                actionLinks={
                  <>
                    {'window' in next ? (
                      <AlertActionLink
                        isAriaDisabled={why !== undefined}
                        title={why}
                        onClick={() => setOpening(next)}
                      >
                        {next.text}
                      </AlertActionLink>
                    ) : null}
                    <Way to={next.to}>{'window' in next ? words.overview.problem.nextHeld : next.text}</Way>
                  </>
                }
              >
                <p className="sluice-said">{detail}</p>
                {since === undefined ? null : (
                  <p className="sluice-since">
                    {words.overview.since} <Ago at={since} />
                  </p>
                )}
              </Alert>
            </li>
          );
        })}
      </ul>
      {opening === undefined ? null : (
        <OpenWindowDialog nodes={opening.window} onClose={() => setOpening(undefined)} />
      )}
    </>
  );
}

function Way({ to, children }: { readonly to: Route; readonly children: string }) {
  return (
    <AlertActionLink component="a" {...useLink(to)}>
      {children}
    </AlertActionLink>
  );
}
