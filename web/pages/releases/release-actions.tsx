import { useState } from 'react';
import { useAct } from '../../data/use-act.ts';
import { ActionButton } from '../../parts/action-button.tsx';
import { Failed } from '../../parts/failed.tsx';
import { words } from '../../words/english.ts';
import { RemoveDialog } from './remove.tsx';
import type { Release } from './use-releases.ts';

const said = words.releases;

/** What can be done with a release: copy it, pause and resume its copies, remove it. */
export function ReleaseActions({ release }: { readonly release: Release }) {
  const { name, asked, paused, state, bundle, inUse, only, everywhere } = release;
  const add = useAct('addRelease');
  const pause = useAct('pauseRelease');
  const [removing, setRemoving] = useState(false);
  const isHeld = (bundle?.heldBy.length ?? 0) > 0;
  const moves = asked && !everywhere && state !== 'Removing';
  const whyNotRemoved = !asked
    ? isHeld
      ? said.notAsked
      : undefined
    : inUse !== undefined
      ? said.inUse(inUse)
      : only
        ? said.lastOne
        : undefined;
  return (
    <div className="sluice-row-actions">
      {asked ? null : (
        <ActionButton
          action="addRelease"
          variant="secondary"
          size="sm"
          isLoading={add.busy}
          onClick={() => void add.act({ name })}
        >
          {said.copy}
        </ActionButton>
      )}
      {moves ? (
        <ActionButton
          action="pauseRelease"
          variant="secondary"
          size="sm"
          isLoading={pause.busy}
          onClick={() => void pause.act({ name, paused: !paused })}
        >
          {paused ? said.resume : said.pause}
        </ActionButton>
      ) : null}
      {asked || isHeld ? (
        <ActionButton
          action="removeRelease"
          variant="secondary"
          isDanger
          size="sm"
          unless={whyNotRemoved}
          onClick={() => setRemoving(true)}
        >
          {isHeld || !moves ? words.action.names.removeRelease : said.cancel}
        </ActionButton>
      ) : null}
      <Failed failure={add.failure ?? pause.failure} />
      {removing ? <RemoveDialog release={release} onClose={() => setRemoving(false)} /> : null}
    </div>
  );
}
