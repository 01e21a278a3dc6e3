/**
 * Makes the single-file program: `npm run package [-- --arch x64|arm64|all]`. It lies in dist/ then, with the notices
 * of what is in it and the checksums.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt } from '../src/console/build.ts';
import { run, runOrThrow } from '../src/process/run.ts';
import { programBuild, programVersion } from '../src/program/build.ts';
import { noticesFile } from '../src/program/files.ts';
import { repository } from '../tests/tier.ts';
import {
  type Architecture,
  architectures,
  makeParts,
  makeProgram,
  pinnedNode,
  runtimeDirectory,
} from './program.ts';
import { runScript } from './script.ts';
import { writeSums } from './sums.ts';

const own: Architecture = process.arch === 'arm64' ? 'arm64' : 'x64';

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { arch: { type: 'string', default: own }, out: { type: 'string' } },
  });
  const wanted = architectures.filter((each) => values.arch === 'all' || values.arch === each);
  if (wanted.length === 0)
    throw new Error(`--arch takes ${architectures.join(', ')} or all, not ${values.arch}`);
  const out = values.out ?? join(repository, 'dist');
  await mkdir(out, { recursive: true });
  const console = await ensureBuilt((text) => process.stderr.write(`${text}\n`));
  if ('next' in console) throw new Error(`the web console is not built; ${console.next}`);
  const builder = join(runtimeDirectory(own), 'bin', 'node');
  const parts = await makeParts(runtimeDirectory(own), await commitOf());
  const version = programVersion();
  for (const architecture of wanted) {
    const scratch = await mkdtemp(join(tmpdir(), 'sluice-package-'));
    try {
      const program = await makeProgram(parts, {
        node: await nodeOf(architecture, scratch),
        builder,
        ownMachine: architecture === own,
        scratch,
      });
      const path = join(out, `sluice-${version}-linux-${architecture}`);
      await rm(path, { force: true }); // It may be running.
      await writeFile(path, program, { mode: 0o755 });
      await chmod(path, 0o755);
      process.stderr.write(`${path}: ${(program.length / 2 ** 20).toFixed(0)} MiB\n`);
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }
  await writeFile(join(out, noticesFile), parts.notices);
  await writeSums(out);
}

/** The commit, with a mark where what is packaged differs from it. */
async function commitOf(): Promise<string> {
  const { commit } = programBuild();
  if (commit === 'unknown') return commit;
  const changes = await run('git', ['-C', repository, 'status', '--porcelain', '--untracked-files=no']);
  return changes.code === 0 && changes.stdout.trim() === '' ? commit : `${commit}-changed`;
}

/** Node's binary for a machine: among the installed packages, or fetched as the lock file names it. */
async function nodeOf(architecture: Architecture, scratch: string): Promise<string> {
  const installed = join(runtimeDirectory(architecture), 'bin', 'node');
  if (existsSync(installed)) return installed;
  const { version, integrity } = pinnedNode(architecture);
  const name = `node-linux-${architecture}`;
  const directory = join(scratch, 'node');
  await mkdir(directory);
  await runOrThrow('npm', ['pack', `${name}@${version}`, '--silent', '--pack-destination', directory], {
    timeoutMs: 10 * 60_000,
  });
  const archive = join(directory, `${name}-${version}.tgz`);
  const found = `sha512-${createHash('sha512')
    .update(await readFile(archive))
    .digest('base64')}`;
  if (found !== integrity) throw new Error(`${archive} is not what package-lock.json names: ${found}`);
  await runOrThrow('tar', ['-xzf', archive, '-C', directory, 'package/bin/node']);
  return join(directory, 'package', 'bin', 'node');
}

await runScript(main);
