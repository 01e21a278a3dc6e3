import { useEffect, useState } from 'react';
import { useConsole } from '../../data/hooks.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { words } from '../../words/english.ts';
import { formatBytes } from '../../words/format.ts';
import type { Release } from './use-releases.ts';

const said = words.releases.remove;

/** Asks before a release is given up, with what that frees. */
export function RemoveDialog({
  release,
  onClose,
}: {
  readonly release: Release;
  readonly onClose: () => void;
}) {
  const { bundle, name, version, inUse } = release;
  const isHeld = (bundle?.heldBy.length ?? 0) > 0;
  const free = useFreeable(isHeld ? bundle?.bundleDigest : undefined);
  return (
    <ActDialog
      action="removeRelease"
      title={isHeld ? said.title(version) : said.cancelTitle(version)}
      body={{ name }}
      onClose={onClose}
      danger
      submit={isHeld ? words.action.names.removeRelease : said.cancelSubmit}
      unless={inUse === undefined ? undefined : said.inUse(inUse)}
    >
      {isHeld ? (
        <p>{free === undefined ? said.counting : free.told(bundle?.heldBy.length ?? 0)}</p>
      ) : (
        <p>{said.cancelWhat}</p>
      )}
      {inUse === undefined ? null : <p>{said.inUse(inUse)}</p>}
      <p>{said.again}</p>
    </ActDialog>
  );
}

function useFreeable(digest: string | undefined) {
  const { api } = useConsole();
  const [told, setTold] = useState<{ told: (nodes: number) => string }>();
  useEffect(() => {
    if (digest === undefined) return;
    const abort = new AbortController();
    api.read<{ bytes: number }>(`freeable/${digest}`, abort.signal).then(
      ({ bytes }) => setTold({ told: (nodes) => said.frees(formatBytes(bytes), nodes) }),
      (error: unknown) => {
        if (abort.signal.aborted) return;
        const why = error instanceof Error ? error.message : String(error);
        setTold({ told: () => said.unknown(why) });
      },
    );
    return () => abort.abort();
  }, [api, digest]);
  return told;
}
