import { Alert, AlertActionLink } from '@patternfly/react-core/dist/dynamic/components/Alert';
import { useState } from 'react';
import { useNavigation } from '../app/navigation.tsx';
import { useRight } from '../data/hooks.ts';
import type { Problem } from '../data/problem.ts';
import { words } from '../words/english.ts';
import { whyNot } from './action-button.tsx';
import { Ago } from './ago.tsx';
import { OpenWindowDialog } from './window-dialog.tsx';

/** Problems, worst first, each with its next step. */
export function Problems({ problems }: { readonly problems: readonly Problem[] }) {
  const { go } = useNavigation();
  const [opening, setOpening] = useState<readonly string[]>();
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
                {...('to' in next
                  ? {
                      actionLinks: <AlertActionLink onClick={() => go(next.to)}>{next.text}</AlertActionLink>,
                    }
                  : 'window' in next
                    ? {
                        actionLinks: (
                          <>
                            <AlertActionLink
                              isAriaDisabled={why !== undefined}
                              title={why}
                              onClick={() => setOpening(next.window)}
                            >
                              {next.text}
                            </AlertActionLink>
                            <AlertActionLink
                              onClick={() => go({ page: 'nodes', filter: id.slice('held-'.length) })}
                            >
                              {words.overview.problem.nextHeld}
                            </AlertActionLink>
                          </>
                        ),
                      }
                    : {})}
              >
                <p className="sluice-said">{detail}</p>
                {since === undefined ? null : (
                  <p className="sluice-since">
                    {words.overview.since} <Ago at={since} />
                  </p>
                )}
                {'command' in next ? (
                  <p>
                    {words.overview.next} <code>{next.command}</code>
                  </p>
                ) : null}
              </Alert>
            </li>
          );
        })}
      </ul>
      {opening === undefined ? null : (
        <OpenWindowDialog nodes={opening} onClose={() => setOpening(undefined)} />
      )}
    </>
  );
}
