import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import CubesIcon from '@patternfly/react-icons/dist/esm/icons/cubes-icon';
import SearchIcon from '@patternfly/react-icons/dist/esm/icons/search-icon';
import { useMemo, useState } from 'react';
import { Link, useNavigation } from '../../app/navigation.tsx';
import { type Facts, openRequest, situationOf } from '../../data/facts.ts';
import { useAct } from '../../data/use-act.ts';
import { useFacts } from '../../data/use-facts.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { CheckTable } from '../../parts/check-table.tsx';
import { Failed } from '../../parts/failed.tsx';
import { Known, Nothing } from '../../parts/known.tsx';
import { PageHead, Statement } from '../../parts/page-head.tsx';
import { Section } from '../../parts/section.tsx';
import { StatusLabel } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';
import { Asked } from './asked.tsx';
import { reachTones } from './reach.ts';
import { ForceDialog, StartDialog } from './start.tsx';
import { type Target, targetsOf, whyNotStart } from './targets.ts';

const said = words.update;

/** One release to go to: what stands against it, gate by gate, and the buttons. */
export function TargetPage({ version }: { readonly version: string }) {
  const { facts, of } = useFacts();
  const target = useMemo(() => targetsOf(facts).find((each) => each.version === version), [facts, version]);
  return (
    <>
      <PageHead
        title={said.target(version)}
        within={{ to: { page: 'update' }, text: said.back, name: version }}
        subtitle={target === undefined ? undefined : <Summary target={target} />}
        actions={target === undefined ? undefined : <Buttons facts={facts} target={target} />}
      />
      <Known of={of}>
        {() =>
          target === undefined ? (
            <Nothing title={said.gone(version)} icon={CubesIcon}>
              {said.goneNext} <Link to={{ page: 'update' }}>{said.back}</Link>
            </Nothing>
          ) : (
            <PageSection hasBodyWrapper={false} className="sluice-stack">
              {isAskedFor(facts, version) ? <Asked facts={facts} /> : null}
              <Gates target={target} />
            </PageSection>
          )
        }
      </Known>
    </>
  );
}

function isAskedFor(facts: Facts, version: string): boolean {
  return openRequest(situationOf(facts))?.to === version;
}

/** The page's main statement: what its last look said. */
function Summary({ target }: { readonly target: Target }) {
  const { version, reach, why, content, preflight } = target;
  const verdict = preflight?.status?.verdict;
  return (
    <div className="sluice-stack-small">
      <Statement>
        {reach === 'current'
          ? said.runs(version)
          : reach === 'coming'
            ? said.underWay(version)
            : verdict === undefined
              ? said.gatesNone
              : (said.verdict[verdict] ?? verdict)}
      </Statement>
      <p>
        <StatusLabel tone={reachTones[reach]}>{said.graphStates[reach]}</StatusLabel>{' '}
        {said.startContent(content)}
        {why === undefined || reach === 'blocked' ? null : ` ${why}.`}
      </p>
    </div>
  );
}

function Buttons({ facts, target }: { readonly facts: Facts; readonly target: Target }) {
  const { version, preflight, bundle } = target;
  const dryRun = useAct('runPreflight');
  const { go } = useNavigation();
  const [dialog, setDialog] = useState<'start' | 'force'>();
  const why = whyNotStart(facts, target);
  const running = preflight?.status?.verdict === 'Running' ? said.running : undefined;
  const close = () => setDialog(undefined);
  const done = () => go({ page: 'update' });
  return (
    <>
      <ActionButton
        action="runPreflight"
        variant="secondary"
        unless={running}
        isLoading={dryRun.busy}
        onClick={() => void dryRun.act({ version })}
      >
        {preflight === undefined ? said.dryRun : said.dryRunAgain}
      </ActionButton>
      <ActionButton action="startUpdate" variant="primary" unless={why} onClick={() => setDialog('start')} />
      <ActionButton
        action="startUpdate"
        variant="secondary"
        isDanger
        unless={why}
        onClick={() => setDialog('force')}
      >
        {said.force}
      </ActionButton>
      <Failed failure={dryRun.failure} />
      {dialog === 'start' ? <StartDialog version={version} onClose={close} onDone={done} /> : null}
      {dialog === 'force' ? (
        <ForceDialog key={bundle.bundleDigest} version={version} onClose={close} onDone={done} />
      ) : null}
    </>
  );
}

function Gates({ target }: { readonly target: Target }) {
  const { preflight, version } = target;
  const checks = preflight?.status?.checks ?? [];
  return (
    <Section id="update-gates" title={said.gates}>
      {preflight === undefined ? (
        <Nothing title={said.gatesNone} icon={SearchIcon}>
          {said.gatesNoneNext}
        </Nothing>
      ) : (
        <>
          <p>
            <span className="sluice-said">{preflight.status?.message}</span>{' '}
            <span className="sluice-small">
              {said.lookedAt} <Ago at={preflight.status?.finishedAt ?? preflight.status?.startedAt} />
            </span>{' '}
            <Link to={{ page: 'preflight', name: preflight.metadata.name }}>{said.report}</Link>
          </p>
          <CheckTable
            checks={checks}
            release={{ version, accepted: preflight.spec.acceptedRisks ?? [] }}
            label={said.gates}
          />
        </>
      )}
    </Section>
  );
}
