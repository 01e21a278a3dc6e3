import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The program's own version, from package.json. */
export function programVersion(): string {
  const path = join(import.meta.dirname, '..', '..', 'package.json');
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}
