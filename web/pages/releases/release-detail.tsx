import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import CubesIcon from '@patternfly/react-icons/dist/esm/icons/cubes-icon';
import type { Condition } from '../../../src/api/core.ts';
import { useKind } from '../../data/hooks.ts';
import { Ago } from '../../parts/ago.tsx';
import { Known, Nothing } from '../../parts/known.tsx';
import { Listing } from '../../parts/listing.tsx';
import { PageHead, Statement } from '../../parts/page-head.tsx';
import { Section } from '../../parts/section.tsx';
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
      <PageHead
        title={release?.version ?? name}
        within={{ to: { page: 'releases' }, text: said.back, name }}
        subtitle={
          release === undefined ? undefined : (
            <Statement>
              <StatusLabel tone={toneOf(release.state)}>{release.state}</StatusLabel>{' '}
              {said.statement(
                known.nodes.filter((node) => release.heldBy.includes(node)).length,
                known.nodes.length,
              )}
            </Statement>
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
              <Section id="releases-matrix" title={words.releases.matrix}>
                <Matrix {...known} releases={[release]} />
              </Section>
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
    <Section id="release-conditions" title={said.conditions}>
      {rows.length === 0 ? (
        <p>{said.conditionsNone}</p>
      ) : (
        <Listing
          name={{ id: 'release-conditions' }}
          columns={[
            columns.where,
            columns.type,
            columns.status,
            { text: columns.message, holds: 'words' },
            columns.since,
          ]}
          rows={rows.map(({ where, type, status, message, lastTransitionTime }) => ({
            key: `${where} ${type}`,
            cells: [where, type, status, message, <Ago key="since" at={lastTransitionTime} />],
          }))}
        />
      )}
    </Section>
  );
}
