import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table/dist/dynamic/components/Table';
import type { ClusterVersionStatusHistory } from '../../../src/api/resources.ts';
import { useNow } from '../../data/hooks.ts';
import { Ago } from '../../parts/ago.tsx';
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
    <Table variant="compact" aria-label={said.history}>
      <Thead>
        <Tr>
          <Th>{version}</Th>
          <Th>{state}</Th>
          <Th>{started}</Th>
          <Th>{took}</Th>
          {withRisks ? <Th>{risks}</Th> : null}
        </Tr>
      </Thead>
      <Tbody>
        {entries.map((entry) => (
          <Tr key={`${entry.image} ${entry.startedTime}`}>
            <Td dataLabel={version}>{entry.version ?? entry.image}</Td>
            <Td dataLabel={state}>
              <StatusLabel tone={entry.state === 'Completed' ? 'good' : 'working'}>{entry.state}</StatusLabel>
            </Td>
            <Td dataLabel={started}>
              <Ago at={entry.startedTime} />
            </Td>
            <Td dataLabel={took}>
              <Took entry={entry} />
            </Td>
            {withRisks ? <Td dataLabel={risks}>{entry.acceptedRisks ?? ''}</Td> : null}
          </Tr>
        ))}
      </Tbody>
    </Table>
  );
}

function Took({ entry }: { readonly entry: ClusterVersionStatusHistory }) {
  const now = useNow();
  const { startedTime, completionTime } = entry;
  const end = completionTime === null || completionTime === undefined ? now : Date.parse(completionTime);
  const span = formatSpan(end - Date.parse(startedTime));
  return completionTime === null || completionTime === undefined ? `${span}, ${said.underWay}` : span;
}
