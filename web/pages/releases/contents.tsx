import { Alert } from '@patternfly/react-core/dist/dynamic/components/Alert';
import { Card, CardBody, CardTitle } from '@patternfly/react-core/dist/dynamic/components/Card';
import {
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
} from '@patternfly/react-core/dist/dynamic/components/DescriptionList';
import { SearchInput } from '@patternfly/react-core/dist/dynamic/components/SearchInput';
import { Skeleton } from '@patternfly/react-core/dist/dynamic/components/Skeleton';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table/dist/dynamic/components/Table';
import { type ReactNode, useState } from 'react';
import type { BundleAnswer } from '../../../src/console/answers.ts';
import { useReading } from '../../data/use-reading.ts';
import { words } from '../../words/english.ts';
import { formatBytes } from '../../words/format.ts';

const said = words.releases.detail;

/** What is in a bundle, read from the nodes' registries: the signature first. */
export function Contents({ digest }: { readonly digest: string }) {
  const reading = useReading<BundleAnswer>(`bundles/${digest}`);
  return (
    <Card component="section" aria-labelledby="release-contents">
      <CardTitle component="h2" id="release-contents">
        {said.contents}
      </CardTitle>
      <CardBody>
        {reading.at === 'reading' ? (
          <Skeleton screenreaderText={said.contentsReading} height="8rem" />
        ) : reading.at === 'failed' ? (
          <Alert isInline variant="warning" title={said.contentsFailed} component="h3">
            {reading.message} {reading.next}
          </Alert>
        ) : (
          <Bundle bundle={reading.value} />
        )}
      </CardBody>
    </Card>
  );
}

function Bundle({ bundle }: { readonly bundle: BundleAnswer }) {
  const { document, signedBy, digest } = bundle;
  const { images, os, previous, payload } = document;
  const bytes = images.reduce((sum, { closureBytes }) => sum + closureBytes, 0);
  const [wanted, setWanted] = useState('');
  const shown = images.filter(({ name, role }) =>
    `${name} ${role}`.toLowerCase().includes(wanted.toLowerCase()),
  );
  const columns = said.imageColumns;
  return (
    <div className="sluice-stack">
      <DescriptionList isCompact columnModifier={{ default: '1Col', lg: '2Col' }}>
        <Fact term={said.signedBy}>
          {signedBy.name} <code>{signedBy.id}</code>
        </Fact>
        <Fact term={said.size}>{said.sizeOf(formatBytes(bytes), images.length)}</Fact>
        <Fact term={said.previous}>{previous.length === 0 ? said.previousNone : previous.join(', ')}</Fact>
        {os === undefined ? null : (
          <Fact term={said.os}>
            {os.version ?? os.tag}
            {os.kernel === undefined ? null : `, ${said.kernel(os.kernel)}`}
          </Fact>
        )}
        <Fact term={said.identity}>
          <code className="sluice-said">{digest}</code>
        </Fact>
        <Fact term={said.payload}>
          <code className="sluice-said">{payload}</code>
        </Fact>
      </DescriptionList>
      <SearchInput
        aria-label={said.filter}
        placeholder={said.filter}
        value={wanted}
        onChange={(_, value) => setWanted(value)}
        onClear={() => setWanted('')}
      />
      {shown.length === 0 ? <p>{said.noImage}</p> : null}
      <Table aria-labelledby="release-contents" variant="compact">
        <Thead>
          <Tr>
            <Th>{columns.name}</Th>
            <Th>{columns.role}</Th>
            <Th>{columns.size}</Th>
            <Th>{columns.digest}</Th>
          </Tr>
        </Thead>
        <Tbody>
          {shown.map(({ name, role, closureBytes, digest: image }) => (
            <Tr key={`${name} ${image}`}>
              <Td dataLabel={columns.name} modifier="breakWord">
                {name}
              </Td>
              <Td dataLabel={columns.role}>{said.roles[role] ?? role}</Td>
              <Td dataLabel={columns.size}>{formatBytes(closureBytes)}</Td>
              <Td dataLabel={columns.digest} modifier="breakWord">
                <code>{image}</code>
              </Td>
            </Tr>
          ))}
        </Tbody>
      </Table>
    </div>
  );
}

function Fact({ term, children }: { readonly term: string; readonly children: ReactNode }) {
  return (
    <DescriptionListGroup>
      <DescriptionListTerm>{term}</DescriptionListTerm>
      <DescriptionListDescription>{children}</DescriptionListDescription>
    </DescriptionListGroup>
  );
}
