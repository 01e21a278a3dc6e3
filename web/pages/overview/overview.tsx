import { Alert } from '@patternfly/react-core/dist/dynamic/components/Alert';
import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import { useMemo } from 'react';
import { Link, useNavigation } from '../../app/navigation.tsx';
import { type Facts, type Situation, situationOf } from '../../data/facts.ts';
import { useNow } from '../../data/hooks.ts';
import { useAct } from '../../data/use-act.ts';
import { useFacts } from '../../data/use-facts.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { Failed } from '../../parts/failed.tsx';
import { Known } from '../../parts/known.tsx';
import { PageHead, Statement } from '../../parts/page-head.tsx';
import { Problems } from '../../parts/problems.tsx';
import { Section } from '../../parts/section.tsx';
import { words } from '../../words/english.ts';
import { statementOf } from '../../words/statement.ts';
import { History } from './history.tsx';
import { problemsOf } from './problems.ts';
import { stepsOf } from './steps.ts';
import { Summary } from './summary.tsx';
import { Way } from './way.tsx';

const said = words.overview;
/** Problems depend on the time only where something is overdue. */
const overdueLookMs = 30_000;

/** How the cluster stands: problems first, then the way of the update, then everything else in short. */
export function Overview() {
  const { facts, of } = useFacts();
  return (
    <>
      <PageHead
        title={said.title}
        // It needs the version alone, and does not wait for the nodes of a whole fleet.
        subtitle={
          <Known quiet of={{ ClusterVersion: of.ClusterVersion }}>
            {() => <Statement>{statementOf(situationOf(facts))}</Statement>}
          </Known>
        }
      />
      <Known of={of}>{() => <Content facts={facts} />}</Known>
    </>
  );
}

function Content({ facts }: { readonly facts: Facts }) {
  const now = useNow(overdueLookMs);
  const problems = useMemo(() => problemsOf(facts, now), [facts, now]);
  const steps = useMemo(() => stepsOf(facts), [facts]);
  const situation = situationOf(facts);
  return (
    <PageSection hasBodyWrapper={false} className="sluice-stack">
      <section aria-labelledby="problems" className="sluice-stack-small">
        <h2 id="problems" className="sluice-h2">
          {said.problems}
        </h2>
        {problems.length === 0 ? <Fine situation={situation} /> : <Problems problems={problems} />}
      </section>
      <Section id="way" title={situation.kind === 'idle' ? said.pathIdle : said.path}>
        <Way steps={steps} />
      </Section>
      <Summary facts={facts} />
      <Section id="history" title={said.history}>
        <History entries={facts.version?.status?.history ?? []} />
      </Section>
    </PageSection>
  );
}

/** Nothing is wrong: what can be done next. */
function Fine({ situation }: { readonly situation: Situation }) {
  const next = situation.kind === 'idle' ? situation.next : undefined;
  const { act, busy, failure } = useAct('runPreflight');
  const { go } = useNavigation();
  const run = async () => {
    const asked = await act({ version: next?.version });
    if (asked !== undefined) go({ page: 'preflight', name: String(asked.name) });
  };
  if (situation.kind === 'unknown') {
    return (
      <Alert isInline variant="info" title={said.nothingKnown} component="h3">
        {said.nothingKnownNext}
      </Alert>
    );
  }
  return (
    <Alert isInline variant="success" title={said.none} component="h3">
      {situation.kind !== 'idle' ? null : next === undefined ? (
        <Link to={{ page: 'releases' }}>{said.noneNext}</Link>
      ) : (
        <div className="sluice-stack-small">
          <p>{said.atHand(next.version)}</p>
          <div className="sluice-head-actions">
            <ActionButton action="runPreflight" variant="secondary" isLoading={busy} onClick={run} />
            <Link to={{ page: 'update', target: next.version }}>{said.toUpdate(next.version)}</Link>
          </div>
          <Failed failure={failure} />
        </div>
      )}
    </Alert>
  );
}
