import { readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runOrThrow } from '../src/process/run.ts';
import { commitFile } from '../src/program/build.ts';
import { noticesFile, scriptCacheSuffix, shippedFiles } from '../src/program/files.ts';
import { runtimeFlags } from '../src/program/self.ts';
import { repository } from '../tests/tier.ts';
import { addNote } from './elf-note.ts';
import { loaderSource, scriptFolder, wrapperHead, wrapperTail } from './loader.ts';
import { noticesText } from './notices.ts';
import { bundleScripts, type Scripts } from './scripts.ts';

export const architectures = ['x64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

/** Files that the program reads at run time, beside those of whole folders. */
const files = [
  'package.json',
  'LICENSE',
  'README.md',
  'CHANGELOG.md',
  'src/apiserver/protobuf/messages.json',
  'src/apiserver/schemas/kubernetes.json',
];
const folders = ['crds', 'deploy', 'docs', 'web/dist'];

/** What one program is made of, whatever machine it is for. */
export interface Parts {
  readonly scripts: Scripts;
  readonly notices: string;
  readonly commit: string;
}

/** @param runtime directory of a package of Node: its licences. */
export async function makeParts(runtime: string, commit: string): Promise<Parts> {
  const scripts = await bundleScripts();
  return { scripts, notices: noticesText(scripts.modules, runtime), commit };
}

/**
 * Makes the single-file program of one machine: Node's own binary, with the scripts and files in a note of it.
 * The same parts give the same bytes.
 *
 * @param options.node the binary of that machine.
 * @param options.builder Node of this machine and of the same version, which prepares what goes inside.
 * @param options.scratch an empty directory for what comes between.
 */
export async function makeProgram(
  parts: Parts,
  options: {
    readonly node: string;
    readonly builder: string;
    readonly ownMachine: boolean;
    readonly scratch: string;
  },
): Promise<Buffer> {
  const { builder, scratch } = options;
  const assets: Record<string, string> = {};
  const put = async (name: string, content: string | Uint8Array) => {
    const path = join(scratch, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    assets[name] = path;
  };
  for (const path of [...files, ...folders.flatMap(shippedFiles)]) assets[path] = join(repository, path);
  await put(commitFile, `${parts.commit}\n`);
  await put(noticesFile, parts.notices);
  const scripts = [...parts.scripts.texts].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, text] of scripts) await put(`${scriptFolder}/${name}`, text);
  if (options.ownMachine) {
    await makeCaches(
      builder,
      scripts.map(([name]) => join(scratch, scriptFolder, name)),
    );
    for (const [name] of scripts) {
      const cache = `${scriptFolder}/${name}${scriptCacheSuffix}`;
      assets[cache] = join(scratch, cache);
    }
  }
  await writeFile(join(scratch, 'loader.cjs'), loaderSource);
  const config = {
    // Its name is kept inside: as it is here, the scratch directory is not.
    main: 'loader.cjs',
    output: 'blob',
    disableExperimentalSEAWarning: true,
    useCodeCache: false,
    useSnapshot: false,
    execArgv: runtimeFlags,
    execArgvExtension: 'none',
    assets,
  };
  await writeFile(join(scratch, 'config.json'), JSON.stringify(config));
  await runOrThrow(builder, ['--experimental-sea-config', 'config.json'], { cwd: scratch });
  return addNote(
    withFuse(await readFile(options.node)),
    'NODE_SEA_BLOB',
    await readFile(join(scratch, config.output)),
  );
}

/** By which Node tells that it holds a program: `…:0` in its binary becomes `…:1`. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:';

function withFuse(node: Buffer): Buffer {
  const at = node.indexOf(`${fuse}0`);
  if (at === -1 || node.indexOf(fuse, at + 1) !== -1)
    throw new Error('this is no Node that can hold a program');
  node[at + fuse.length] = '1'.charCodeAt(0);
  return node;
}

/**
 * Has the engine compile each script, and keeps what it made. It accepts that later only under the very flags of now,
 * but for the seed, which makes the same bytes of the same text.
 */
async function makeCaches(builder: string, paths: readonly string[]): Promise<void> {
  const code = `
    const { readFileSync, writeFileSync } = require('node:fs');
    const { Script } = require('node:vm');
    for (const path of JSON.parse(readFileSync(0, 'utf8'))) {
      const text = ${JSON.stringify(wrapperHead)} + readFileSync(path, 'latin1') + ${JSON.stringify(wrapperTail)};
      writeFileSync(path + ${JSON.stringify(scriptCacheSuffix)}, new Script(text, { filename: 'sluice' }).createCachedData());
    }`;
  await runOrThrow(builder, [...runtimeFlags, '--random-seed=1', '-e', code], {
    input: JSON.stringify(paths),
  });
}

/** Directory of the Node package of a machine among the installed ones. */
export function runtimeDirectory(architecture: Architecture): string {
  return join(repository, 'node_modules', `node-linux-${architecture}`);
}

/** The version of Node that package.json pins. */
export function pinnedNode(architecture: Architecture): {
  readonly version: string;
  readonly integrity: string;
} {
  const lock = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; integrity: string } | undefined>;
  };
  const found = lock.packages[`node_modules/node-linux-${architecture}`];
  if (found === undefined) throw new Error(`package-lock.json has no Node for ${architecture}`);
  return found;
}
