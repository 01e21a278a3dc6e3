import { Card, CardBody, CardTitle } from '@patternfly/react-core/dist/dynamic/components/Card';
import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import ClipboardCheckIcon from '@patternfly/react-icons/dist/esm/icons/clipboard-check-icon';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table/dist/dynamic/components/Table';
import { useState } from 'react';
import type { UpdatePreflight } from '../../../src/api/resources.ts';
import { Link, useNavigation } from '../../app/navigation.tsx';
import { useFacts } from '../../data/use-facts.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { Known, Nothing } from '../../parts/known.tsx';
import { PageHead } from '../../parts/page-head.tsx';
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
          <Known of={known}>
            {() => (
              <p className="sluice-statement" data-statement>
                {said.statement(reports.length, against.length)}
              </p>
            )}
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
              <Card component="section" aria-labelledby="preflight-reports">
                <CardTitle component="h2" id="preflight-reports">
                  {said.reports}
                </CardTitle>
                <CardBody>
                  <ReportTable reports={reports} />
                </CardBody>
              </Card>
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
    <Table aria-labelledby="preflight-reports" variant="compact">
      <Thead>
        <Tr>
          <Th>{target}</Th>
          <Th>{verdict}</Th>
          <Th>{checks}</Th>
          <Th>{when}</Th>
          <Th>{next}</Th>
        </Tr>
      </Thead>
      <Tbody>
        {reports.map((object) => {
          const { metadata, status, spec } = object;
          return (
            <Tr key={metadata.name} data-report={metadata.name}>
              <Td dataLabel={target} modifier="breakWord">
                <Link to={{ page: 'preflight', name: metadata.name }}>{targetOf(object)}</Link>
                <div className="sluice-small">{metadata.name}</div>
              </Td>
              <Td dataLabel={verdict}>
                <VerdictLabel verdict={status?.verdict} />
                <div className="sluice-small sluice-said">{status?.message}</div>
              </Td>
              <Td dataLabel={checks}>
                <Counts checks={status?.checks ?? []} />
              </Td>
              <Td dataLabel={when}>
                {status?.finishedAt === undefined && status?.startedAt === undefined ? (
                  said.never
                ) : (
                  <Ago at={status.finishedAt ?? status.startedAt} />
                )}
              </Td>
              <Td dataLabel={next}>
                {status?.nextRun === undefined ? (
                  spec.frequency === undefined ? (
                    said.onDemand
                  ) : (
                    said.every(spec.frequency)
                  )
                ) : (
                  <Ago at={status.nextRun} />
                )}
              </Td>
            </Tr>
          );
        })}
      </Tbody>
    </Table>
  );
}
