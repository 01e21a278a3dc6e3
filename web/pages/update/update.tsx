import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import CubesIcon from '@patternfly/react-icons/dist/esm/icons/cubes-icon';
import { useMemo } from 'react';
import { Link } from '../../app/navigation.tsx';
import { type Facts, situationOf } from '../../data/facts.ts';
import { useFacts } from '../../data/use-facts.ts';
import { Known, Nothing } from '../../parts/known.tsx';
import { Listing } from '../../parts/listing.tsx';
import { PageHead, Statement } from '../../parts/page-head.tsx';
import { Section } from '../../parts/section.tsx';
import { StatusLabel } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';
import { statementOf } from '../../words/statement.ts';
import { Asked } from './asked.tsx';
import { Graph } from './graph.tsx';
import { Operators } from './operators.tsx';
import { Progress } from './progress.tsx';
import { reachTones } from './reach.ts';
import { TargetPage } from './target.tsx';
import { currentVersion, type Target, targetsOf } from './targets.ts';

const said = words.update;

/** The versions at hand, the update that is asked for or under way, and one target in full. */
export function Update({
  target,
  operator,
}: {
  readonly target: string | undefined;
  /** The operator that is looked for. */
  readonly operator: string | undefined;
}) {
  return target === undefined ? <UpdateOverview operator={operator} /> : <TargetPage version={target} />;
}

function UpdateOverview({ operator }: { readonly operator: string | undefined }) {
  const { facts, of } = useFacts();
  return (
    <>
      <PageHead
        title={said.title}
        subtitle={
          <Known quiet of={{ ClusterVersion: of.ClusterVersion }}>
            {() => <Statement>{statementOf(situationOf(facts))}</Statement>}
          </Known>
        }
      />
      <Known of={of}>{() => <Content facts={facts} operator={operator} />}</Known>
    </>
  );
}

function Content({ facts, operator }: { readonly facts: Facts; readonly operator: string | undefined }) {
  const targets = useMemo(() => targetsOf(facts), [facts]);
  const current = currentVersion(facts);
  const others = targets.filter(({ reach }) => reach !== 'current' && reach !== 'coming');
  return (
    <PageSection hasBodyWrapper={false} className="sluice-stack">
      <Asked facts={facts} />
      <Progress facts={facts} />
      <Section id="update-graph" title={said.graph}>
        <Graph targets={targets} current={current} />
      </Section>
      <Section id="update-targets" title={said.targets}>
        {others.length === 0 ? (
          <Nothing title={said.noTargets} icon={CubesIcon}>
            {said.noTargetsNext} <Link to={{ page: 'releases' }}>{words.shell.nav.releases}</Link>
          </Nothing>
        ) : (
          <Targets targets={others} />
        )}
      </Section>
      <Operators operators={facts.operators} to={current} sought={operator} />
    </PageSection>
  );
}

function Targets({ targets }: { readonly targets: readonly Target[] }) {
  const { columns } = said;
  return (
    <Listing
      name={{ id: 'update-targets' }}
      columns={[
        columns.version,
        { text: columns.reach, holds: 'words' },
        { text: columns.content, holds: 'words' },
        columns.checks,
      ]}
      rows={targets.map(({ version, reach, why, content, preflight, bundle }) => ({
        key: bundle.bundleDigest,
        data: { 'data-target': version },
        cells: [
          <Link key={columns.version} to={{ page: 'update', target: version }}>
            {version}
          </Link>,
          <div key={columns.reach}>
            <StatusLabel tone={reachTones[reach]}>{said.graphStates[reach]}</StatusLabel>
            {why === undefined ? null : <div className="sluice-small sluice-said">{why}</div>}
          </div>,
          content,
          preflight === undefined ? (
            said.notRun
          ) : (
            <Link key={columns.checks} to={{ page: 'preflight', name: preflight.metadata.name }}>
              {preflight.status?.verdict ?? said.notRun}
            </Link>
          ),
        ],
      }))}
    />
  );
}
