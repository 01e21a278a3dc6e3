import type { ClusterVersionStatusHistory } from '../../../src/api/resources.ts';
import { useNow } from '../../data/hooks.ts';
import { Ago } from '../../parts/ago.tsx';
import { Listing } from '../../parts/listing.tsx';
import { StatusLabel } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';
import { formatSpan } from '../../words/format.ts';

const said = words.overview;

/** The releases that were applied, newest first. */
export function History({ entries }: { readonly entries: readonly ClusterVersionStatusHistory[] }) {
  if (entries.length === 0) return <p>{said.historyEmpty}</p>;
  const { version, state, started, took, risks } = said.historyColumns;
  const withRisks = entries.some(({ acceptedRisks }) => acceptedRisks !== undefined);
  return (
    <Listing
      name={said.history}
      columns={[
        version,
        state,
        started,
        took,
        ...(withRisks ? [{ text: risks, holds: 'words' as const }] : []),
      ]}
      rows={entries.map((entry) => ({
        key: `${entry.image} ${entry.startedTime}`,
        data: { 'data-history': entry.version ?? entry.image },
        cells: [
          entry.version ?? entry.image,
          <StatusLabel key={state} tone={entry.state === 'Completed' ? 'good' : 'working'}>
            {entry.state}
          </StatusLabel>,
          <Ago key={started} at={entry.startedTime} />,
          <Took key={took} entry={entry} />,
          entry.acceptedRisks,
        ],
      }))}
    />
  );
}

function Took({ entry }: { readonly entry: ClusterVersionStatusHistory }) {
  const now = useNow();
  const { startedTime, completionTime } = entry;
  const end = completionTime === null || completionTime === undefined ? now : Date.parse(completionTime);
  const span = formatSpan(end - Date.parse(startedTime));
  return completionTime === null || completionTime === undefined ? `${span}, ${said.underWay}` : span;
}
