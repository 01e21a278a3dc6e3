import { Card, CardBody, CardTitle } from '@patternfly/react-core/dist/dynamic/components/Card';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table/dist/dynamic/components/Table';
import { useState } from 'react';
import type { NodeUpdate } from '../../../src/api/resources.ts';
import { Link } from '../../app/navigation.tsx';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { ActionButton } from '../../parts/action-button.tsx';
import { StatusLabel } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';

const said = words.releases.media;

/** Media on every node, refused ones with the reason. */
export function MediaTable({ updates }: { readonly updates: readonly NodeUpdate[] }) {
  const media = updates.flatMap(({ metadata, status }) =>
    (status?.media ?? []).map((each) => ({ node: metadata.name, ...each })),
  );
  const [leaving, setLeaving] = useState<{ node: string; media: string }>();
  return (
    <Card component="section" aria-labelledby="releases-media">
      <CardTitle component="h2" id="releases-media">
        {said.title}
      </CardTitle>
      <CardBody>
        {media.length === 0 ? (
          <p>{said.none}</p>
        ) : (
          <Table aria-labelledby="releases-media" variant="compact">
            <Thead>
              <Tr>
                <Th>{said.columns.node}</Th>
                <Th>{said.columns.bundle}</Th>
                <Th>{said.columns.state}</Th>
                <Th>{said.columns.format}</Th>
                <Th>{said.columns.path}</Th>
                <Th screenReaderText={said.columns.actions} />
              </Tr>
            </Thead>
            <Tbody>
              {media.map(({ node, name, verified, message = '', format = '', path = '' }) => (
                <Tr key={`${node} ${path} ${name}`}>
                  <Td dataLabel={said.columns.node}>
                    <Link to={{ page: 'nodes', name: node }}>{node}</Link>
                  </Td>
                  <Td dataLabel={said.columns.bundle} modifier="breakWord">
                    {verified === true ? <Link to={{ page: 'releases', name }}>{name}</Link> : name}
                  </Td>
                  <Td dataLabel={said.columns.state}>
                    <StatusLabel tone={verified === true ? 'good' : 'danger'}>
                      {verified === true ? said.verified : said.refused}
                    </StatusLabel>
                    {verified === true ? null : <div className="sluice-small sluice-said">{message}</div>}
                  </Td>
                  <Td dataLabel={said.columns.format}>{format}</Td>
                  <Td dataLabel={said.columns.path} modifier="breakWord">
                    {path}
                  </Td>
                  <Td dataLabel={said.columns.actions} isActionCell>
                    <ActionButton
                      action="detachMedia"
                      variant="secondary"
                      size="sm"
                      onClick={() => setLeaving({ node, media: path === '' ? name : path })}
                    />
                  </Td>
                </Tr>
              ))}
            </Tbody>
          </Table>
        )}
      </CardBody>
      {leaving === undefined ? null : (
        <ActDialog
          action="detachMedia"
          title={said.detachTitle(leaving.media)}
          body={leaving}
          onClose={() => setLeaving(undefined)}
        >
          <p>{said.detachWhat}</p>
        </ActDialog>
      )}
    </Card>
  );
}
