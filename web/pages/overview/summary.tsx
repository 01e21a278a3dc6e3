import { useMemo, useState } from 'react';
import { openWindowOf } from '../../../src/api/window.ts';
import { bundlesOf } from '../../../src/release/known.ts';
import { Link } from '../../app/navigation.tsx';
import { conditionOf, controlPlaneOf, type Facts } from '../../data/facts.ts';
import { useNow } from '../../data/hooks.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { Ago } from '../../parts/ago.tsx';
import { Section } from '../../parts/section.tsx';
import { StatusLabel, type Tone } from '../../parts/status-label.tsx';
import { CloseWindowDialog } from '../../parts/window-dialog.tsx';
import { words } from '../../words/english.ts';

const said = words.overview;

/** Nodes, releases and operators in one line each. */
export function Summary({ facts }: { readonly facts: Facts }) {
  return (
    <div className="sluice-cards">
      <Section id="summary-nodes" title={<Link to={{ page: 'nodes' }}>{said.nodes}</Link>}>
        <NodeSummary facts={facts} />
      </Section>
      <Section id="summary-releases" title={<Link to={{ page: 'releases' }}>{said.releases}</Link>}>
        <ReleaseSummary facts={facts} />
      </Section>
      <Section id="summary-operators" title={<Link to={{ page: 'update' }}>{said.operators}</Link>}>
        <OperatorSummary facts={facts} />
      </Section>
    </div>
  );
}

function NodeSummary({ facts }: { readonly facts: Facts }) {
  const { updates } = facts;
  const version = facts.version?.status?.desired.version ?? '';
  const counts = useMemo(() => {
    const found = { current: 0, held: 0, moving: 0, idle: 0, degraded: 0 };
    for (const update of updates) {
      const { status } = update;
      if (conditionOf(update, 'Degraded')?.status === 'True') found.degraded += 1;
      else if ((status?.holds?.length ?? 0) > 0 && status?.staged !== undefined) found.held += 1;
      else if (status?.booted?.version === version && status.state !== 'Finalizing') found.current += 1;
      else if (update.spec.osImage === undefined && status?.state !== 'Finalizing') found.idle += 1;
      else found.moving += 1;
    }
    return found;
  }, [updates, version]);
  const rows: readonly [keyof typeof counts, string, Tone][] = [
    ['degraded', said.nodeCounts.degraded(counts.degraded), 'danger'],
    ['held', said.nodeCounts.held, 'warning'],
    ['moving', said.nodeCounts.moving, 'working'],
    ['idle', said.nodeCounts.idle(counts.idle), 'plain'],
    ['current', said.nodeCounts.current(counts.current, version), 'good'],
  ];
  return (
    <ul className="sluice-lines">
      {rows
        .filter(([name]) => counts[name] > 0)
        .map(([name, text, tone]) => (
          <li key={name}>
            <StatusLabel tone={tone}>{counts[name]}</StatusLabel> {text}
          </li>
        ))}
      <OpenWindows updates={updates} />
    </ul>
  );
}

/** Windows that people have opened, and a way to take the permission back. */
function OpenWindows({ updates }: { readonly updates: Facts['updates'] }) {
  const now = useNow(10_000);
  const [closing, setClosing] = useState(false);
  const open = updates.filter((update) => openWindowOf(update, now) !== undefined);
  if (open.length === 0) return null;
  const first = open.map(({ spec }) => spec.window?.notAfter ?? '').sort()[0];
  const nodes = open.map(({ metadata }) => metadata.name);
  return (
    <li data-open-windows={nodes.length}>
      <StatusLabel tone="info">{nodes.length}</StatusLabel> {said.windowOpen} <Ago at={first} />{' '}
      <ActionButton action="closeWindow" variant="link" isInline onClick={() => setClosing(true)} />
      {closing ? <CloseWindowDialog nodes={nodes} onClose={() => setClosing(false)} /> : null}
    </li>
  );
}

function ReleaseSummary({ facts }: { readonly facts: Facts }) {
  const bundles = bundlesOf(facts.updates);
  const all = controlPlaneOf(facts.nodes);
  if (bundles.length === 0) return <p>{said.releasesNone}</p>;
  return (
    <ul className="sluice-lines">
      {bundles.map(({ name, version, heldBy, bundleDigest }) => (
        <li key={bundleDigest}>
          <StatusLabel tone={all.every((node) => heldBy.includes(node)) ? 'good' : 'working'}>
            {all.filter((node) => heldBy.includes(node)).length}/{all.length}
          </StatusLabel>{' '}
          <Link to={{ page: 'releases', name }}>{version}</Link>
        </li>
      ))}
    </ul>
  );
}

function OperatorSummary({ facts }: { readonly facts: Facts }) {
  const { operators } = facts;
  const bad = operators.filter(
    (operator) =>
      conditionOf(operator, 'Available')?.status !== 'True' ||
      conditionOf(operator, 'Degraded')?.status === 'True',
  );
  if (operators.length === 0) return <p>{said.operatorsNone}</p>;
  return (
    <p>
      <StatusLabel tone={bad.length === 0 ? 'good' : 'danger'}>
        {operators.length - bad.length}/{operators.length}
      </StatusLabel>{' '}
      {bad.length === 0
        ? said.operatorsFine(operators.length)
        : said.operatorsBad(bad.length, operators.length)}
    </p>
  );
}
