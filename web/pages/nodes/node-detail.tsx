import { Breadcrumb, BreadcrumbItem } from '@patternfly/react-core/dist/dynamic/components/Breadcrumb';
import { Card, CardBody, CardTitle } from '@patternfly/react-core/dist/dynamic/components/Card';
import {
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
} from '@patternfly/react-core/dist/dynamic/components/DescriptionList';
import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import ServerIcon from '@patternfly/react-icons/dist/esm/icons/server-icon';
import { type ReactNode, useState } from 'react';
import type { NodeUpdate } from '../../../src/api/resources.ts';
import { Link } from '../../app/navigation.tsx';
import { useNow } from '../../data/hooks.ts';
import { useFacts } from '../../data/use-facts.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { Known, Nothing } from '../../parts/known.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { words } from '../../words/english.ts';
import { CloseDialog } from './bulk.tsx';
import { Calendar } from './calendar.tsx';
import { Holds } from './holds.tsx';
import { NodeStateLabel } from './labels.tsx';
import { type NodeRow, nodeRows } from './rows.ts';
import { Slots } from './slots.tsx';
import { WindowDialog } from './window.tsx';

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
      <PageSection hasBodyWrapper={false} className="sluice-head">
        <Breadcrumb>
          <BreadcrumbItem>
            <Link to={{ page: 'nodes' }}>{words.nodes.title}</Link>
          </BreadcrumbItem>
          <BreadcrumbItem isActive>{name}</BreadcrumbItem>
        </Breadcrumb>
      </PageSection>
      <PageHead
        title={name}
        subtitle={row === undefined ? undefined : <Statement row={row} />}
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
              <Card component="section" aria-labelledby="node-holds">
                <CardTitle component="h2" id="node-holds">
                  {said.holds}
                </CardTitle>
                <CardBody>
                  <Holds row={row} />
                </CardBody>
              </Card>
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

function Statement({ row }: { readonly row: NodeRow }) {
  const { booted, staged, state } = row;
  return (
    <p className="sluice-statement" data-statement>
      <NodeStateLabel state={state} />{' '}
      {state === 'absent'
        ? said.noAgent
        : staged === ''
          ? said.runs(booted || words.nodes.unknown)
          : said.runsAndStaged(booted || words.nodes.unknown, staged)}
    </p>
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
      {asking === 'open' ? <WindowDialog rows={[row]} onClose={() => setAsking(undefined)} /> : null}
      {asking === 'close' ? <CloseDialog rows={[row]} onClose={() => setAsking(undefined)} /> : null}
    </>
  );
}

function About({ update, row }: { readonly update: NodeUpdate; readonly row: NodeRow }) {
  const { status } = update;
  const rows: readonly (readonly [string, ReactNode])[] = [
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
    <Card component="section" aria-labelledby="node-about">
      <CardTitle component="h2" id="node-about">
        {said.about}
      </CardTitle>
      <CardBody>
        <DescriptionList isCompact columnModifier={{ default: '1Col', lg: '2Col' }}>
          {rows.map(([term, value]) => (
            <DescriptionListGroup key={term}>
              <DescriptionListTerm>{term}</DescriptionListTerm>
              <DescriptionListDescription>{value}</DescriptionListDescription>
            </DescriptionListGroup>
          ))}
        </DescriptionList>
      </CardBody>
    </Card>
  );
}

function Image({ version, image }: { readonly version?: string; readonly image?: string }) {
  return (
    <>
      {version ?? '-'} {image === undefined ? null : <code className="sluice-digest">{image}</code>}
    </>
  );
}
