import { Breadcrumb, BreadcrumbItem } from '@patternfly/react-core/dist/dynamic/components/Breadcrumb';
import { Card, CardBody, CardTitle } from '@patternfly/react-core/dist/dynamic/components/Card';
import {
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
} from '@patternfly/react-core/dist/dynamic/components/DescriptionList';
import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import ClipboardCheckIcon from '@patternfly/react-icons/dist/esm/icons/clipboard-check-icon';
import type { ReactNode } from 'react';
import type { UpdatePreflight } from '../../../src/api/resources.ts';
import { Link } from '../../app/navigation.tsx';
import { useAct } from '../../data/use-act.ts';
import { useFacts } from '../../data/use-facts.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { Failed } from '../../parts/failed.tsx';
import { Known, Nothing } from '../../parts/known.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { words } from '../../words/english.ts';
import { Checks } from './checks.tsx';
import { Compare } from './compare.tsx';
import { Counts, VerdictLabel } from './labels.tsx';
import { targetOf } from './report.ts';

const said = words.preflight;

/** One report in full, and beside another one. */
export function ReportDetail({ name, other }: { readonly name: string; readonly other: string | undefined }) {
  const { facts, of } = useFacts();
  const again = useAct('runPreflight');
  const object = facts.preflights.find(({ metadata }) => metadata.name === name);
  const running = object?.status?.verdict === 'Running';
  return (
    <>
      <PageSection hasBodyWrapper={false} className="sluice-head">
        <Breadcrumb>
          <BreadcrumbItem>
            <Link to={{ page: 'preflight' }}>{said.title}</Link>
          </BreadcrumbItem>
          <BreadcrumbItem isActive>{name}</BreadcrumbItem>
        </Breadcrumb>
      </PageSection>
      <PageHead
        title={object === undefined ? name : said.detailTitle(targetOf(object))}
        subtitle={object === undefined ? undefined : <Verdict object={object} />}
        actions={
          object === undefined ? undefined : (
            <ActionButton
              action="runPreflight"
              variant="secondary"
              isLoading={again.busy}
              unless={running ? said.runs : undefined}
              onClick={() => void again.act({ version: targetOf(object) })}
            >
              {said.again}
            </ActionButton>
          )
        }
      />
      <Known of={{ UpdatePreflight: of.UpdatePreflight } as Required<typeof of>}>
        {() =>
          object === undefined ? (
            <Nothing title={words.state.goneTitle(name)} icon={ClipboardCheckIcon}>
              {words.state.goneNext}
            </Nothing>
          ) : (
            <PageSection hasBodyWrapper={false} className="sluice-stack">
              <Failed failure={again.failure} />
              <Part id="preflight-checks" title={said.checks}>
                <Checks object={object} />
              </Part>
              <Part id="preflight-compare" title={said.compare.title}>
                <Compare object={object} preflights={facts.preflights} word={other} />
              </Part>
              <Part id="preflight-facts" title={said.about.title}>
                <About object={object} />
              </Part>
            </PageSection>
          )
        }
      </Known>
    </>
  );
}

function Verdict({ object: { status } }: { readonly object: UpdatePreflight }) {
  return (
    <div>
      <p className="sluice-statement sluice-said" data-statement>
        <VerdictLabel verdict={status?.verdict} /> {status?.message ?? said.waits}
      </p>
      <p className="sluice-small">
        <Counts checks={status?.checks ?? []} />
        {status?.finishedAt === undefined ? null : (
          <>
            , {said.ended} <Ago at={status.finishedAt} />
          </>
        )}
      </p>
    </div>
  );
}

function Part({
  id,
  title,
  children,
}: {
  readonly id: string;
  readonly title: string;
  readonly children: ReactNode;
}) {
  return (
    <Card component="section" aria-labelledby={id}>
      <CardTitle component="h2" id={id}>
        {title}
      </CardTitle>
      <CardBody>{children}</CardBody>
    </Card>
  );
}

function About({ object }: { readonly object: UpdatePreflight }) {
  const { spec, status } = object;
  const { about } = said;
  const rows: readonly (readonly [string, ReactNode])[] = [
    [about.target, <Release key="target" {...status?.target} />],
    [about.source, <Release key="source" {...status?.source} />],
    [about.run, <code key="run">{status?.runID ?? '-'}</code>],
    [about.maxAge, spec.maxAge ?? about.maxAgeDefault],
    [about.frequency, spec.frequency ?? said.onDemand],
    [about.next, status?.nextRun === undefined ? about.noNext : <Ago key="next" at={status.nextRun} />],
  ];
  return (
    <DescriptionList isCompact columnModifier={{ default: '1Col', lg: '2Col' }}>
      {rows.map(([term, value]) => (
        <DescriptionListGroup key={term}>
          <DescriptionListTerm>{term}</DescriptionListTerm>
          <DescriptionListDescription>{value}</DescriptionListDescription>
        </DescriptionListGroup>
      ))}
    </DescriptionList>
  );
}

function Release({ version, digest }: { readonly version?: string; readonly digest?: string }) {
  return (
    <>
      {version ?? '-'} {digest === undefined ? null : <code className="sluice-digest">{digest}</code>}
    </>
  );
}
