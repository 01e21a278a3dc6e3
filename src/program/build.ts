import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isPackaged, shippedRoot, shippedText } from './files.ts';

/** In the single file: which commit it was made of (`npm run package`). */
export const commitFile = 'commit';

export interface ProgramBuild {
  readonly version: string;
  /** The commit that it was made of; `unknown` where the source lies without its history. */
  readonly commit: string;
}

/** The program's own version, from package.json. */
export function programVersion(): string {
  return (JSON.parse(shippedText('package.json')) as { version: string }).version;
}

export function programBuild(): ProgramBuild {
  const commit = isPackaged ? shippedText(commitFile).trim() : checkedOut();
  return { version: programVersion(), commit: commit ?? 'unknown' };
}

/** The commit of the checkout, read as git lays it down: a program must not need git to say what it is. */
function checkedOut(): string | undefined {
  const read = (path: string) => {
    try {
      return readFileSync(join(shippedRoot, '.git', path), 'utf8').trim();
    } catch {
      return undefined;
    }
  };
  const head = read('HEAD');
  const reference = /^ref: (refs\/[\w./-]+)$/.exec(head ?? '')?.[1];
  if (reference === undefined) return head;
  if (reference.includes('..')) return undefined;
  const packed = () =>
    read('packed-refs')
      ?.split('\n')
      .find((line) => line.endsWith(` ${reference}`))
      ?.split(' ')[0];
  return read(reference) ?? packed();
}
