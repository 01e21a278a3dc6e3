import { Alert } from '@patternfly/react-core/dist/dynamic/components/Alert';
import { useState } from 'react';
import { Link } from '../../app/navigation.tsx';
import { type Facts, openRequest, situationOf } from '../../data/facts.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { words } from '../../words/english.ts';
import { Refusal } from './refusal.tsx';

const said = words.update;

/** An update that is asked for and has not begun: what it waits for, and how to take it back. */
export function Asked({ facts }: { readonly facts: Facts }) {
  const situation = situationOf(facts);
  const [withdrawing, setWithdrawing] = useState(false);
  const request = openRequest(situation);
  if (request === undefined) return null;
  const { to, refused, message, since } = request;
  return (
    <Alert
      isInline
      variant={refused ? 'danger' : 'info'}
      title={
        situation.kind === 'updating'
          ? words.overview.otherAsked(to, situation.to, refused)
          : refused
            ? words.overview.problem.refused(to)
            : said.checked(to)
      }
      component="h2"
      data-asked={to}
    >
      <div className="sluice-stack-small">
        <Refusal message={message} />
        {since === undefined ? null : (
          <span className="sluice-since">
            {words.overview.since} <Ago at={since} />
          </span>
        )}
        <div className="sluice-head-actions">
          <ActionButton action="withdrawUpdate" variant="secondary" onClick={() => setWithdrawing(true)} />
          <Link to={{ page: 'update', target: to }}>{said.seeGates}</Link>
        </div>
      </div>
      {withdrawing ? (
        <ActDialog
          action="withdrawUpdate"
          title={said.withdrawTitle(to)}
          body={{}}
          onClose={() => setWithdrawing(false)}
        >
          <p>{said.withdrawWhat}</p>
        </ActDialog>
      ) : null}
    </Alert>
  );
}
