import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import ClipboardCheckIcon from '@patternfly/react-icons/dist/esm/icons/clipboard-check-icon';
import type { UpdatePreflight } from '../../../src/api/resources.ts';
import { useAct } from '../../data/use-act.ts';
import { useFacts } from '../../data/use-facts.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { FactList } from '../../parts/fact-list.tsx';
import { Failed } from '../../parts/failed.tsx';
import { Known, Nothing } from '../../parts/known.tsx';
import { PageHead, Statement } from '../../parts/page-head.tsx';
import { Section } from '../../parts/section.tsx';
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
      <PageHead
        title={object === undefined ? name : said.detailTitle(targetOf(object))}
        within={{ to: { page: 'preflight' }, text: said.title, name }}
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
              <Section id="preflight-checks" title={said.checks}>
                <Checks object={object} />
              </Section>
              <Section id="preflight-compare" title={said.compare.title}>
                <Compare object={object} preflights={facts.preflights} word={other} />
              </Section>
              <Section id="preflight-facts" title={said.about.title}>
                <About object={object} />
              </Section>
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
      <Statement>
        <VerdictLabel verdict={status?.verdict} />{' '}
        <span className="sluice-said">{status?.message ?? said.waits}</span>
      </Statement>
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

function About({ object }: { readonly object: UpdatePreflight }) {
  const { spec, status } = object;
  const { about } = said;
  return (
    <FactList
      rows={[
        [about.target, <Release key="target" {...status?.target} />],
        [about.source, <Release key="source" {...status?.source} />],
        [about.run, <code key="run">{status?.runID ?? '-'}</code>],
        [about.maxAge, spec.maxAge ?? about.maxAgeDefault],
        [about.frequency, spec.frequency ?? said.onDemand],
        [about.next, status?.nextRun === undefined ? about.noNext : <Ago key="next" at={status.nextRun} />],
      ]}
    />
  );
}

function Release({ version, digest }: { readonly version?: string; readonly digest?: string }) {
  return (
    <>
      {version ?? '-'} {digest === undefined ? null : <code className="sluice-digest">{digest}</code>}
    </>
  );
}
