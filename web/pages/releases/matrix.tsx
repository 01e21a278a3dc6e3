import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table/dist/dynamic/components/Table';
import { Link } from '../../app/navigation.tsx';
import { StatusLabel, type Tone } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';
import { CellView } from './cell.tsx';
import { cellOf } from './cells.ts';
import { ReleaseActions } from './release-actions.tsx';
import type { Releases } from './use-releases.ts';

const said = words.releases;

/** One row a release, one column a control-plane node. */
export function Matrix({ releases, nodes, updates }: Releases) {
  return (
    <div className="sluice-wide">
      <Table aria-labelledby="releases-matrix" variant="compact">
        <Thead>
          <Tr>
            <Th modifier="nowrap">{said.columns.release}</Th>
            <Th modifier="nowrap">{said.columns.state}</Th>
            {nodes.map((node) => (
              <Th key={node} modifier="nowrap">
                {node}
              </Th>
            ))}
            <Th screenReaderText={said.columns.actions} />
          </Tr>
        </Thead>
        <Tbody>
          {releases.map((release) => {
            const { name, version, state, message, inUse, diskFree, asked } = release;
            return (
              <Tr key={name} data-release={version}>
                <Td dataLabel={said.columns.release}>
                  <Link to={{ page: 'releases', name }} title={name}>
                    {version}
                  </Link>
                </Td>
                <Td dataLabel={said.columns.state} className="sluice-release-state">
                  <div>
                    <StatusLabel tone={toneOf(state)}>{state}</StatusLabel>
                    <div className="sluice-small sluice-said">
                      {message === '' && inUse !== undefined ? said.inUse(inUse) : message}
                    </div>
                    {diskFree ? <div className="sluice-small">{said.diskFree}</div> : null}
                  </div>
                </Td>
                {nodes.map((node) => (
                  <Td key={node} dataLabel={node} data-node={node}>
                    <CellView
                      cell={cellOf(
                        name,
                        updates.find(({ metadata }) => metadata.name === node),
                        asked,
                      )}
                      label={said.cellLabel(version, node)}
                    />
                  </Td>
                ))}
                <Td className="sluice-actions">
                  <ReleaseActions release={release} />
                </Td>
              </Tr>
            );
          })}
        </Tbody>
      </Table>
    </div>
  );
}

/** For the words of `releaseRows`. */
export function toneOf(state: string): Tone {
  switch (state) {
    case 'Available':
      return 'good';
    case 'Mounted':
      return 'info';
    case 'Installing':
    case 'Removing':
      return 'working';
    case 'Available, degraded':
    case 'Missing':
    case 'Unknown':
      return 'warning';
    default:
      return 'danger';
  }
}
