import { Alert } from '@patternfly/react-core/dist/dynamic/components/Alert';
import { Ago } from '../../parts/ago.tsx';
import { words } from '../../words/english.ts';
import type { NodeRow } from './rows.ts';

const said = words.nodes;

/** Gate by gate what holds a node, since when, what would end it, and when the node could reboot. */
export function Holds({ row }: { readonly row: NodeRow }) {
  const { holds, state, message, nextPossible } = row;
  if (holds.length === 0) {
    return (
      <p className="sluice-said">
        {state === 'absent'
          ? said.detail.noAgentNext
          : state === 'trouble'
            ? message
            : said.detail.free(message)}
      </p>
    );
  }
  return (
    <div className="sluice-stack-small">
      <ul className="sluice-problems">
        {holds.map(({ gate, reason, message, since }) => (
          <li key={`${gate} ${reason}`} data-hold={gate}>
            <Alert isInline variant="warning" title={said.gates[gate] ?? gate} component="h3">
              <p className="sluice-said">{message}</p>
              <p className="sluice-since">
                {said.since} <Ago at={since} /> ({reason})
              </p>
              {said.hints[gate] === undefined ? null : (
                <p>
                  {words.action.next} {said.hints[gate]}
                </p>
              )}
            </Alert>
          </li>
        ))}
      </ul>
      <p>
        {nextPossible === undefined ? (
          said.detail.nobodyKnows
        ) : (
          <>
            {said.detail.notBefore} <Ago at={nextPossible} />
            {said.detail.ifFree}
          </>
        )}
      </p>
    </div>
  );
}
