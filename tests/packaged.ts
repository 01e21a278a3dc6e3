import { join } from 'node:path';
import { runOrThrow } from '../src/process/run.ts';
import { programVersion } from '../src/program/build.ts';
import { repository } from './tier.ts';

/** Makes the single-file program of this machine as `npm run package` does, and answers its path. */
export async function packageInto(directory: string): Promise<string> {
  await runOrThrow(process.execPath, [join(repository, 'packaging', 'main.ts'), '--out', directory], {
    timeoutMs: 5 * 60_000,
  });
  return join(directory, `sluice-${programVersion()}-linux-${process.arch}`);
}
