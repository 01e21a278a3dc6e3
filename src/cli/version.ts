import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** The program's own version, from package.json. */
export function programVersion(): string {
  return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version;
}

/** Version and commit; the commit is `unknown` where the source lies without its history. */
export function programBuild(): { version: string; commit: string } {
  return { version: programVersion(), commit: checkedOut() ?? 'unknown' };
}

/** The commit of the checkout, read as git lays it down: a program must not need git to say what it is. */
function checkedOut(): string | undefined {
  const read = (...path: string[]) => {
    try {
      return readFileSync(join(root, '.git', ...path), 'utf8').trim();
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
      .find((line) => line.endsWith(` ${reference}`));
  return read(reference) ?? packed()?.split(' ')[0];
}
