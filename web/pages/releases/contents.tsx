import { Alert } from '@patternfly/react-core/dist/dynamic/components/Alert';
import { SearchInput } from '@patternfly/react-core/dist/dynamic/components/SearchInput';
import { Skeleton } from '@patternfly/react-core/dist/dynamic/components/Skeleton';
import { useState } from 'react';
import type { BundleAnswer } from '../../../src/console/answers.ts';
import { useReading } from '../../data/use-reading.ts';
import { FactList } from '../../parts/fact-list.tsx';
import { Listing } from '../../parts/listing.tsx';
import { Section } from '../../parts/section.tsx';
import { words } from '../../words/english.ts';
import { formatBytes } from '../../words/format.ts';

const said = words.releases.detail;

/** What is in a bundle, read from the nodes' registries: the signature first. */
export function Contents({ digest }: { readonly digest: string }) {
  const reading = useReading<BundleAnswer>(`bundles/${digest}`);
  return (
    <Section id="release-contents" title={said.contents}>
      {reading.at === 'reading' ? (
        <Skeleton screenreaderText={said.contentsReading} height="8rem" />
      ) : reading.at === 'failed' ? (
        <Alert isInline variant="warning" title={said.contentsFailed} component="h3">
          <p className="sluice-said">{reading.message}</p>
          {reading.next === '' ? null : (
            <p>
              {words.action.next} {reading.next}
            </p>
          )}
        </Alert>
      ) : (
        <Bundle bundle={reading.value} />
      )}
    </Section>
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
      <FactList
        rows={[
          [
            said.signedBy,
            <span key="signed">
              {signedBy.name} <code className="sluice-digest">{signedBy.id}</code>
            </span>,
          ],
          [said.size, said.sizeOf(formatBytes(bytes), images.length)],
          [said.previous, previous.length === 0 ? said.previousNone : previous.join(', ')],
          [
            said.os,
            os === undefined
              ? undefined
              : [os.version ?? os.tag, ...(os.kernel === undefined ? [] : [said.kernel(os.kernel)])].join(
                  ', ',
                ),
          ],
          [
            said.identity,
            <code key="identity" className="sluice-digest">
              {digest}
            </code>,
          ],
          [
            said.payload,
            <code key="payload" className="sluice-digest">
              {payload}
            </code>,
          ],
        ]}
      />
      <SearchInput
        aria-label={said.filter}
        placeholder={said.filter}
        value={wanted}
        onChange={(_, value) => setWanted(value)}
        onClear={() => setWanted('')}
        className="sluice-narrow"
      />
      {shown.length === 0 ? (
        <p>{said.noImage}</p>
      ) : (
        <Listing
          name={{ id: 'release-contents' }}
          columns={[
            { text: columns.name, holds: 'words' },
            columns.role,
            columns.size,
            { text: columns.digest, holds: 'words' },
          ]}
          rows={shown.map(({ name, role, closureBytes, digest: image }) => ({
            key: `${name} ${image}`,
            cells: [
              name,
              said.roles[role] ?? role,
              formatBytes(closureBytes),
              <code key="digest" className="sluice-digest">
                {image}
              </code>,
            ],
          }))}
        />
      )}
    </div>
  );
}
