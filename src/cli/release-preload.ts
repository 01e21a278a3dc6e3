import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { preload } from '../copy/preload.ts';
import { SluiceError } from '../errors/error.ts';
import { openMedia } from '../media/media.ts';
import { terminationSignal } from '../process/parent.ts';
import { loadTrustedKeys } from '../trust/keys.ts';
import { humanBytes, note } from './output.ts';
import { createProgress } from './progress.ts';
import { matchRelease } from './release-view.ts';

const keysDir = '/etc/sluice/trusted-keys';

/** `sluice release preload`: media → a store on this machine, verified, as a node would have copied it. */
export async function preloadRelease(
  path: string,
  release: string | undefined,
  options: { readonly root: string; readonly key?: readonly string[] },
): Promise<void> {
  const keys = await readKeys(options.key);
  const media = await openMedia(path);
  const progress = createProgress();
  try {
    const name = chosen(
      release,
      media.hint.bundles.map((each) => each.name),
      path,
    );
    const record = await preload(media.content, name, options.root, {
      keys,
      signal: terminationSignal(),
      onProgress: ({ phase, bytesDone, bytesTotal }) =>
        progress.update([
          {
            label: name,
            done: bytesDone,
            total: bytesTotal,
            ...(phase === 'Verifying' ? { state: 'verifying' } : {}),
          },
        ]),
    });
    progress.end();
    note(`${name} stands in ${options.root}: ${humanBytes(record.bytes)}, every byte verified`);
    note(`  its node adopts it at its start; its registry serves it before that`);
  } finally {
    progress.end();
    await media.close();
  }
}

async function readKeys(files: readonly string[] | undefined) {
  if (files === undefined) return await loadTrustedKeys(keysDir);
  const entries = await Promise.all(
    files.map(async (file) => [basename(file), await readFile(file, 'utf8')] as const),
  );
  return await loadTrustedKeys(Object.fromEntries(entries));
}

/** Errors: NotFound; Usage where there are several and none is named. */
function chosen(release: string | undefined, names: readonly string[], path: string): string {
  const found = release === undefined ? names : matchRelease(release, names);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const at = names.length === 0 ? 'no bundle' : names.join(', ');
  if (found.length === 0) throw new SluiceError('NotFound', `${path} carries ${at}`);
  throw new SluiceError('Usage', `${path} carries several bundles: ${at}`, { next: 'Name one of them.' });
}
