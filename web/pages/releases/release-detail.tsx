import { Breadcrumb, BreadcrumbItem } from '@patternfly/react-core/dist/dynamic/components/Breadcrumb';
import { Card, CardBody, CardTitle } from '@patternfly/react-core/dist/dynamic/components/Card';
import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import CubesIcon from '@patternfly/react-icons/dist/esm/icons/cubes-icon';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table/dist/dynamic/components/Table';
import type { Condition } from '../../../src/api/core.ts';
import { Link } from '../../app/navigation.tsx';
import { useKind } from '../../data/hooks.ts';
import { Ago } from '../../parts/ago.tsx';
import { Known, Nothing } from '../../parts/known.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { StatusLabel } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';
import { Contents } from './contents.tsx';
import { Matrix, toneOf } from './matrix.tsx';
import { useReleases } from './use-releases.ts';

const said = words.releases.detail;

/** One release: where it is, what its conditions say, and what is in it. */
export function ReleaseDetail({ name }: { readonly name: string }) {
  const { known, of } = useReleases();
  const release = known.releases.find((each) => each.name === name);
  return (
    <>
      <PageSection hasBodyWrapper={false} className="sluice-head">
        <Breadcrumb>
          <BreadcrumbItem>
            <Link to={{ page: 'releases' }}>{said.back}</Link>
          </BreadcrumbItem>
          <BreadcrumbItem isActive>{name}</BreadcrumbItem>
        </Breadcrumb>
      </PageSection>
      <PageHead
        title={release?.version ?? name}
        subtitle={
          release === undefined ? undefined : (
            <StatusLabel tone={toneOf(release.state)}>{release.state}</StatusLabel>
          )
        }
      />
      <Known of={of}>
        {() =>
          release === undefined ? (
            <Nothing title={words.state.goneTitle(name)} icon={CubesIcon}>
              {words.state.goneNext}
            </Nothing>
          ) : (
            <PageSection hasBodyWrapper={false} className="sluice-stack">
              <Card component="section" aria-labelledby="releases-matrix">
                <CardTitle component="h2" id="releases-matrix">
                  {words.releases.matrix}
                </CardTitle>
                <CardBody>
                  <Matrix {...known} releases={[release]} />
                </CardBody>
              </Card>
              <Conditions
                name={name}
                together={known.object?.status?.releases.find((each) => each.name === name)?.conditions ?? []}
              />
              {release.bundle === undefined ? null : <Contents digest={release.bundle.bundleDigest} />}
            </PageSection>
          )
        }
      </Known>
    </>
  );
}

/** What all nodes together and each node say of it. */
function Conditions({ name, together }: { readonly name: string; readonly together: readonly Condition[] }) {
  const nodes = useKind('MachineConfigNode');
  const rows = [
    ...together.map((condition) => ({ where: said.everywhere, ...condition })),
    ...nodes.items.flatMap(({ metadata, status }) =>
      (status?.internalReleaseImage?.releases.find((each) => each.name === name)?.conditions ?? []).map(
        (condition) => ({ where: metadata.name, ...condition }),
      ),
    ),
  ];
  const columns = said.conditionColumns;
  return (
    <Card component="section" aria-labelledby="release-conditions">
      <CardTitle component="h2" id="release-conditions">
        {said.conditions}
      </CardTitle>
      <CardBody>
        <Table aria-labelledby="release-conditions" variant="compact">
          <Thead>
            <Tr>
              <Th>{columns.where}</Th>
              <Th>{columns.type}</Th>
              <Th>{columns.status}</Th>
              <Th>{columns.message}</Th>
              <Th>{columns.since}</Th>
            </Tr>
          </Thead>
          <Tbody>
            {rows.map(({ where, type, status, message, lastTransitionTime }) => (
              <Tr key={`${where} ${type}`}>
                <Td dataLabel={columns.where}>{where}</Td>
                <Td dataLabel={columns.type}>{type}</Td>
                <Td dataLabel={columns.status}>{status}</Td>
                <Td dataLabel={columns.message} modifier="breakWord">
                  {message}
                </Td>
                <Td dataLabel={columns.since}>
                  <Ago at={lastTransitionTime} />
                </Td>
              </Tr>
            ))}
          </Tbody>
        </Table>
      </CardBody>
    </Card>
  );
}
