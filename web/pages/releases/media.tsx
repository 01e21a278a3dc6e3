import { useState } from 'react';
import type { NodeUpdate } from '../../../src/api/resources.ts';
import { Link } from '../../app/navigation.tsx';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { ActionButton } from '../../parts/action-button.tsx';
import { Listing } from '../../parts/listing.tsx';
import { Section } from '../../parts/section.tsx';
import { StatusLabel } from '../../parts/status-label.tsx';
import { words } from '../../words/english.ts';

const said = words.releases.media;

/** Media on every node, refused ones with the reason. */
export function MediaTable({ updates }: { readonly updates: readonly NodeUpdate[] }) {
  const media = updates.flatMap(({ metadata, status }) =>
    (status?.media ?? []).map((each) => ({ node: metadata.name, ...each })),
  );
  const [leaving, setLeaving] = useState<{ node: string; media: string }>();
  const { columns } = said;
  return (
    <Section id="releases-media" title={said.title}>
      {media.length === 0 ? (
        <p>{said.none}</p>
      ) : (
        <Listing
          name={{ id: 'releases-media' }}
          columns={[
            columns.node,
            { text: columns.bundle, holds: 'words' },
            columns.state,
            columns.format,
            { text: columns.path, holds: 'words' },
            { text: columns.actions, holds: 'actions' },
          ]}
          rows={media.map(({ node, name, verified, message = '', format = '', path = '' }) => ({
            key: `${node} ${path} ${name}`,
            data: { 'data-media': path },
            cells: [
              <Link key={columns.node} to={{ page: 'nodes', name: node }}>
                {node}
              </Link>,
              verified === true ? (
                <Link key={columns.bundle} to={{ page: 'releases', name }}>
                  {name}
                </Link>
              ) : (
                name
              ),
              <div key={columns.state}>
                <StatusLabel tone={verified === true ? 'good' : 'danger'}>
                  {verified === true ? said.verified : said.refused}
                </StatusLabel>
                {verified === true ? null : <div className="sluice-small sluice-said">{message}</div>}
              </div>,
              format,
              path,
              <ActionButton
                key={columns.actions}
                action="detachMedia"
                variant="secondary"
                size="sm"
                onClick={() => setLeaving({ node, media: path === '' ? name : path })}
              />,
            ],
          }))}
        />
      )}
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
    </Section>
  );
}
