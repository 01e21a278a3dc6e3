import { Card, CardBody, CardTitle } from '@patternfly/react-core/dist/dynamic/components/Card';
import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import CubesIcon from '@patternfly/react-icons/dist/esm/icons/cubes-icon';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table/dist/dynamic/components/Table';
import { useMemo } from 'react';
import { Link } from '../../app/navigation.tsx';
import { type Facts, situationOf } from '../../data/facts.ts';
import { useFacts } from '../../data/use-facts.ts';
import { Known, Nothing } from '../../parts/known.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { StatusLabel } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';
import { statementOf } from '../../words/statement.ts';
import { Asked } from './asked.tsx';
import { Graph } from './graph.tsx';
import { Progress } from './progress.tsx';
import { reachTones } from './reach.ts';
import { TargetPage } from './target.tsx';
import { currentVersion, type Target, targetsOf } from './targets.ts';

const said = words.update;

/** The versions at hand, the update that is asked for or under way, and one target in full. */
export function Update({ target }: { readonly target: string | undefined }) {
  return target === undefined ? <UpdateOverview /> : <TargetPage version={target} />;
}

function UpdateOverview() {
  const { facts, of } = useFacts();
  return (
    <>
      <PageHead
        title={said.title}
        subtitle={
          <Known of={{ ClusterVersion: of.ClusterVersion }}>
            {() => (
              <p className="sluice-statement" data-statement>
                {statementOf(situationOf(facts))}
              </p>
            )}
          </Known>
        }
      />
      <Known of={of}>{() => <Content facts={facts} />}</Known>
    </>
  );
}

function Content({ facts }: { readonly facts: Facts }) {
  const targets = useMemo(() => targetsOf(facts), [facts]);
  const current = currentVersion(facts);
  const others = targets.filter(({ reach }) => reach !== 'current' && reach !== 'coming');
  return (
    <PageSection hasBodyWrapper={false} className="sluice-stack">
      <Asked facts={facts} />
      <Progress facts={facts} />
      <Card component="section" aria-labelledby="update-graph">
        <CardTitle component="h2" id="update-graph">
          {said.graph}
        </CardTitle>
        <CardBody>
          <Graph targets={targets} current={current} />
        </CardBody>
      </Card>
      <Card component="section" aria-labelledby="update-targets">
        <CardTitle component="h2" id="update-targets">
          {said.targets}
        </CardTitle>
        <CardBody>
          {others.length === 0 ? (
            <Nothing title={said.noTargets} icon={CubesIcon}>
              {said.noTargetsNext} <Link to={{ page: 'releases' }}>{words.shell.nav.releases}</Link>
            </Nothing>
          ) : (
            <Targets targets={others} />
          )}
        </CardBody>
      </Card>
    </PageSection>
  );
}

function Targets({ targets }: { readonly targets: readonly Target[] }) {
  const { columns } = said;
  return (
    <Table aria-labelledby="update-targets" variant="compact">
      <Thead>
        <Tr>
          <Th>{columns.version}</Th>
          <Th>{columns.reach}</Th>
          <Th>{columns.content}</Th>
          <Th>{columns.checks}</Th>
        </Tr>
      </Thead>
      <Tbody>
        {targets.map(({ version, reach, why, content, preflight, bundle }) => (
          <Tr key={bundle.bundleDigest} data-target={version}>
            <Td dataLabel={columns.version}>
              <Link to={{ page: 'update', target: version }}>{version}</Link>
            </Td>
            <Td dataLabel={columns.reach}>
              <StatusLabel tone={reachTones[reach]}>{said.graphStates[reach]}</StatusLabel>
              {why === undefined ? null : <div className="sluice-small sluice-said">{why}</div>}
            </Td>
            <Td dataLabel={columns.content}>{content}</Td>
            <Td dataLabel={columns.checks}>
              {preflight === undefined ? (
                said.notRun
              ) : (
                <Link to={{ page: 'preflight', name: preflight.metadata.name }}>
                  {preflight.status?.verdict ?? said.notRun}
                </Link>
              )}
            </Td>
          </Tr>
        ))}
      </Tbody>
    </Table>
  );
}
