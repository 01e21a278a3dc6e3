import { Alert } from '@patternfly/react-core/dist/dynamic/components/Alert';
import { PageSection } from '@patternfly/react-core/dist/dynamic/components/Page';
import CubesIcon from '@patternfly/react-icons/dist/esm/icons/cubes-icon';
import { useState } from 'react';
import { ActionButton } from '../../parts/action-button.tsx';
import { Known, Nothing } from '../../parts/known.tsx';
import { PageHead, Statement } from '../../parts/page-head.tsx';
import { Section } from '../../parts/section.tsx';
import { words } from '../../words/english.ts';
import { AttachDialog } from './attach.tsx';
import { Matrix } from './matrix.tsx';
import { MediaTable } from './media.tsx';
import { ReleaseDetail } from './release-detail.tsx';
import { useReleases } from './use-releases.ts';

const said = words.releases;

/** Releases by nodes, attached media, and one release in full. */
export function Releases({ name }: { readonly name: string | undefined }) {
  return name === undefined ? <ReleaseList /> : <ReleaseDetail name={name} />;
}

function ReleaseList() {
  const { known, of } = useReleases();
  const { releases, nodes, updates } = known;
  const [attaching, setAttaching] = useState(false);
  const [attached, setAttached] = useState<string>();
  const everywhere = releases.filter((each) => each.everywhere).length;
  return (
    <>
      <PageHead
        title={said.title}
        subtitle={
          <Known quiet of={of}>
            {() => <Statement>{said.statement(releases.length, everywhere)}</Statement>}
          </Known>
        }
        actions={
          <ActionButton action="attachMedia" variant="primary" onClick={() => setAttaching(true)}>
            {said.attach.button}
          </ActionButton>
        }
      />
      <Known of={of}>
        {() => (
          <PageSection hasBodyWrapper={false} className="sluice-stack">
            {attached === undefined ? null : (
              <Alert
                isInline
                isLiveRegion
                variant="success"
                title={attached}
                component="p"
                timeout={10_000}
              />
            )}
            <Section id="releases-matrix" title={said.matrix}>
              {releases.length === 0 ? (
                <Nothing title={said.none} icon={CubesIcon}>
                  {said.noneNext}
                </Nothing>
              ) : (
                <Matrix {...known} />
              )}
            </Section>
            <MediaTable updates={updates} />
          </PageSection>
        )}
      </Known>
      {attaching ? (
        <AttachDialog
          nodes={nodes}
          onClose={() => setAttaching(false)}
          onDone={({ path, node }) => setAttached(said.media.attached(String(path), String(node)))}
        />
      ) : null}
    </>
  );
}
