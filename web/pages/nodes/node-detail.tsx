import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import ServerIcon from '@patternfly/react-icons/dist/esm/icons/server-icon';
import { useState } from 'react';
import type { NodeUpdate } from '../../../src/api/resources.ts';
import { useNow } from '../../data/hooks.ts';
import { useFacts } from '../../data/use-facts.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { FactList, type FactRows } from '../../parts/fact-list.tsx';
import { Known, Nothing } from '../../parts/known.tsx';
import { PageHead, Statement } from '../../parts/page-head.tsx';
import { Section } from '../../parts/section.tsx';
import { CloseWindowDialog, OpenWindowDialog } from '../../parts/window-dialog.tsx';
import { words } from '../../words/english.ts';
import { Calendar } from './calendar.tsx';
import { Holds } from './holds.tsx';
import { NodeStateLabel } from './labels.tsx';
import { type NodeRow, nodeRows, stagedByAll } from './rows.ts';
import { Slots } from './slots.tsx';

const said = words.nodes.detail;

/** One node: what holds it, since when, and when it could reboot. */
export function NodeDetail({ name }: { readonly name: string }) {
  const { facts, of } = useFacts();
  const now = useNow(10_000);
  const row = nodeRows(facts, now).find((each) => each.name === name);
  const update = facts.updates.find(({ metadata }) => metadata.name === name);
  const known = { NodeUpdate: of.NodeUpdate, Node: of.Node, FleetLockGroup: of.FleetLockGroup } as Required<
    typeof of
  >;
  return (
    <>
      <PageHead
        title={name}
        within={{ to: { page: 'nodes' }, text: words.nodes.title, name }}
        subtitle={row === undefined ? undefined : <Summary row={row} />}
        actions={row === undefined ? undefined : <Buttons row={row} />}
      />
      <Known of={known}>
        {() =>
          row === undefined ? (
            <Nothing title={words.state.goneTitle(name)} icon={ServerIcon}>
              {words.state.goneNext}
            </Nothing>
          ) : (
            <PageSection hasBodyWrapper={false} className="sluice-stack">
              <Section id="node-holds" title={said.holds}>
                <Holds row={row} />
              </Section>
              {row.slot === undefined ? null : <Slots slots={[row.slot]} />}
              {update === undefined ? null : <Calendar updates={[update]} />}
              {update === undefined ? null : <About update={update} row={row} />}
            </PageSection>
          )
        }
      </Known>
    </>
  );
}

function Summary({ row }: { readonly row: NodeRow }) {
  const { booted, staged, state } = row;
  return (
    <Statement>
      <NodeStateLabel state={state} />{' '}
      {state === 'absent'
        ? said.noAgent
        : staged === ''
          ? said.runs(booted || words.nodes.unknown)
          : said.runsAndStaged(booted || words.nodes.unknown, staged)}
    </Statement>
  );
}

function Buttons({ row }: { readonly row: NodeRow }) {
  const [asking, setAsking] = useState<'open' | 'close'>();
  return (
    <>
      <ActionButton action="openWindow" variant="primary" onClick={() => setAsking('open')} />
      <ActionButton
        action="closeWindow"
        variant="secondary"
        unless={row.window === undefined ? words.nodes.noWindow : undefined}
        onClick={() => setAsking('close')}
      />
      {asking === 'open' ? (
        <OpenWindowDialog
          nodes={[row.name]}
          release={stagedByAll([row])}
          onClose={() => setAsking(undefined)}
        />
      ) : null}
      {asking === 'close' ? (
        <CloseWindowDialog nodes={[row.name]} onClose={() => setAsking(undefined)} />
      ) : null}
    </>
  );
}

function About({ update, row }: { readonly update: NodeUpdate; readonly row: NodeRow }) {
  const { status } = update;
  const rows: FactRows = [
    [said.booted, <Image key="booted" {...status?.booted} />],
    [
      said.staged,
      status?.staged === undefined ? said.nothingStaged : <Image key="staged" {...status.staged} />,
    ],
    [said.strategies, (status?.strategies ?? []).join(', ') || '-'],
    [
      said.window,
      row.window === undefined ? (
        said.noWindow
      ) : (
        <span key="window">
          {words.nodes.windowEnds} <Ago at={row.window.notAfter} />
          {row.window.once ? `, ${said.once}` : ''}
          {row.window.release === '' ? '' : `, ${said.onlyFor(row.window.release)}`}
        </span>
      ),
    ],
    [said.driver, status?.driver ?? '-'],
    [said.agent, status?.agent ?? '-'],
    [said.boot, <code key="boot">{status?.bootID ?? '-'}</code>],
    [said.ready, row.notReady ?? said.isReady],
  ];
  return (
    <Section id="node-about" title={said.about}>
      <FactList rows={rows} />
    </Section>
  );
}

function Image({ version, image }: { readonly version?: string; readonly image?: string }) {
  return (
    <>
      {version ?? '-'} {image === undefined ? null : <code className="sluice-digest">{image}</code>}
    </>
  );
}
