import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import ClipboardCheckIcon from '@patternfly/react-icons/dist/esm/icons/clipboard-check-icon';
import { useState } from 'react';
import type { UpdatePreflight } from '../../../src/api/resources.ts';
import { Link, useNavigation } from '../../app/navigation.tsx';
import { useFacts } from '../../data/use-facts.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { Known, Nothing } from '../../parts/known.tsx';
import { Listing } from '../../parts/listing.tsx';
import { PageHead, Statement } from '../../parts/page-head.tsx';
import { Section } from '../../parts/section.tsx';
import { words } from '../../words/english.ts';
import { Counts, VerdictLabel } from './labels.tsx';
import { newestReports, targetOf } from './report.ts';
import { ReportDetail } from './report-detail.tsx';
import { RunDialog } from './run.tsx';

const said = words.preflight;

/** Every report, and one in full, beside another where the address says so. */
export function Preflight({
  name,
  other,
}: {
  readonly name: string | undefined;
  readonly other: string | undefined;
}) {
  return name === undefined ? <ReportList /> : <ReportDetail name={name} other={other} />;
}

function ReportList() {
  const { facts, of } = useFacts();
  const { go } = useNavigation();
  const [asking, setAsking] = useState(false);
  const reports = newestReports(facts.preflights);
  const against = reports.filter(
    ({ status }) => status?.verdict === 'Blocked' || status?.verdict === 'Incomplete',
  );
  const known = { UpdatePreflight: of.UpdatePreflight, NodeUpdate: of.NodeUpdate } as Required<typeof of>;
  return (
    <>
      <PageHead
        title={said.title}
        subtitle={
          <Known quiet of={known}>
            {() => <Statement>{said.statement(reports.length, against.length)}</Statement>}
          </Known>
        }
        actions={
          <ActionButton action="runPreflight" variant="primary" onClick={() => setAsking(true)}>
            {said.run.button}
          </ActionButton>
        }
      />
      <Known of={known}>
        {() => (
          <PageSection hasBodyWrapper={false}>
            {reports.length === 0 ? (
              <Nothing title={said.none} icon={ClipboardCheckIcon}>
                {said.noneNext}
              </Nothing>
            ) : (
              <Section id="preflight-reports" title={said.reports}>
                <ReportTable reports={reports} />
              </Section>
            )}
          </PageSection>
        )}
      </Known>
      {asking ? (
        <RunDialog
          facts={facts}
          onClose={() => setAsking(false)}
          onDone={({ name }) => go({ page: 'preflight', name: String(name) })}
        />
      ) : null}
    </>
  );
}

function ReportTable({ reports }: { readonly reports: readonly UpdatePreflight[] }) {
  const { target, verdict, checks, when, next } = said.columns;
  return (
    <Listing
      name={{ id: 'preflight-reports' }}
      columns={[
        { text: target, holds: 'words' },
        { text: verdict, holds: 'words' },
        { text: checks, holds: 'words' },
        when,
        next,
      ]}
      rows={reports.map((object) => {
        const { metadata, status, spec } = object;
        const looked = status?.finishedAt ?? status?.startedAt;
        return {
          key: metadata.name,
          data: { 'data-report': metadata.name },
          cells: [
            <div key={target}>
              <Link to={{ page: 'preflight', name: metadata.name }}>{targetOf(object)}</Link>
              <div className="sluice-small">{metadata.name}</div>
            </div>,
            <div key={verdict}>
              <VerdictLabel verdict={status?.verdict} />
              <div className="sluice-small sluice-said">{status?.message}</div>
            </div>,
            <Counts key={checks} checks={status?.checks ?? []} />,
            looked === undefined ? said.never : <Ago key={when} at={looked} />,
            status?.nextRun === undefined ? (
              spec.frequency === undefined ? (
                said.onDemand
              ) : (
                said.every(spec.frequency)
              )
            ) : (
              <Ago key={next} at={status.nextRun} />
            ),
          ],
        };
      })}
    />
  );
}
