import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { AnyObject } from '../src/api/core.ts';
import { repository } from './tier.ts';

/** The objects of files in deploy/standalone, in their order. */
export async function shippedManifests(files: readonly string[]): Promise<AnyObject[]> {
  const objects: AnyObject[] = [];
  for (const file of files) {
    const text = await readFile(join(repository, 'deploy', 'standalone', file), 'utf8');
    for (const document of parseAllDocuments(text)) {
      const object = document.toJS() as AnyObject | null;
      if (object !== null) objects.push(object);
    }
  }
  return objects;
}
