import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { programSums } from '../src/bundle/program.ts';
import { formatChecksums } from '../src/trust/checksums.ts';

/** Lists everything that lies in a directory of programs, as sha256sum checks it. */
export async function writeSums(directory: string): Promise<void> {
  const sums = new Map<string, string>();
  for (const name of (await readdir(directory)).filter((each) => each !== programSums).sort()) {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(join(directory, name))) hash.update(chunk as Uint8Array);
    sums.set(name, hash.digest('hex'));
  }
  await writeFile(join(directory, programSums), formatChecksums(sums));
}
