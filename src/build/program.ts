import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { programDirectory, programSignature, programSums } from '../bundle/program.ts';
import { SluiceError } from '../errors/error.ts';
import { formatChecksums, signBytes } from '../trust/checksums.ts';
import { publicKeyOf } from '../trust/keys.ts';
import { comparePaths, packTar, type TarEntry } from './tar.ts';

/** The repository that this program runs from. */
const root = join(import.meta.dirname, '..', '..');
/** What of it the program needs to run. */
const programPaths = [
  'sluice',
  'package.json',
  'package-lock.json',
  'LICENSE',
  'README.md',
  'CHANGELOG.md',
  'src',
  'crds',
  'deploy',
  'docs',
];
/** The web console, where it is built: a program without it works. */
const consolePath = 'web/dist';
const gzipLevel = 4;
const directoriesDeepMax = 64;

/**
 * Puts this program beside the bundles, with its manifests, its documentation and the public key, so that a machine
 * with nothing else can begin. Each file is listed, and the list is signed with the bundle's key.
 *
 * Errors: NotFound (the program's own files), DiskFull.
 */
export async function putProgram(media: string, privatePem: string): Promise<void> {
  const directory = join(media, programDirectory);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  const archive = `sluice-${version}-linux-${process.arch}.tar.gz`;
  await pipeline(
    packTar(programEntries(`sluice-${version}`)),
    createGzip({ level: gzipLevel }),
    createWriteStream(join(directory, archive), { flush: true }),
  );
  for (const part of ['deploy', 'docs', 'crds']) {
    for (const path of await filesBelow(join(root, part), 0)) {
      await mkdir(join(directory, part, dirname(path)), { recursive: true });
      await copyFile(join(root, part, path), join(directory, part, path));
    }
  }
  const key = publicKeyOf(privatePem, 'sluice');
  await writeFile(join(directory, 'sluice.pub'), key.publicPem);
  await writeFile(join(directory, 'README.txt'), readmeText(archive, version, key));
  const sums = Buffer.from(await sumsOf(directory));
  await writeFile(join(directory, programSums), sums);
  await writeFile(join(directory, programSignature), signBytes(sums, privatePem));
}

async function sumsOf(directory: string): Promise<string> {
  const sums = new Map<string, string>();
  for (const path of await filesBelow(directory, 0)) {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(join(directory, path))) hash.update(chunk as Uint8Array);
    sums.set(path, hash.digest('hex'));
  }
  return formatChecksums(sums);
}

function readmeText(archive: string, version: string, key: { id: string; fingerprint: string }): string {
  return `Sluice ${version}: updates clusters that have no internet.

Before anything else, compare this fingerprint with one that came to you in another way than on this disk:

  key ${key.id}
  SHA-256 of the public key  ${key.fingerprint}
  openssl pkey -pubin -in sluice.pub -outform DER | sha256sum

Then prove that nothing here was changed, and unpack the program; it needs nothing else on the machine:

  openssl dgst -sha256 -verify sluice.pub -signature ${programSignature} ${programSums} && sha256sum --quiet -c ${programSums}
  tar -xzf ${archive} -C /opt
  /opt/sluice-${version}/sluice bundle verify .. --key sluice.pub

deploy/ holds the manifests and systemd units, docs/ the documentation.
`;
}

async function* programEntries(top: string): AsyncGenerator<TarEntry> {
  const paths = new Set<string>();
  const console = existsSync(join(root, consolePath)) ? [consolePath] : [];
  for (const name of [...programPaths, ...console, ...(await runtimePackages())]) {
    const facts = await stat(join(root, name)).catch((cause: unknown) => {
      throw new SluiceError('NotFound', `${name}, which the program needs, is not in ${root}`, { cause });
    });
    const below = facts.isDirectory() ? await filesBelow(join(root, name), 0) : [];
    for (const path of facts.isDirectory() ? below.map((each) => `${name}/${each}`) : [name]) {
      if (!isForTests(path)) paths.add(path);
    }
  }
  for (const path of [...paths].sort(comparePaths)) {
    const content = join(root, path);
    const { size, mode } = await stat(content);
    yield { kind: 'file', path: `${top}/${path}`, mode: (mode & 0o111) === 0 ? 0o644 : 0o755, size, content };
  }
}

function isForTests(path: string): boolean {
  return path.startsWith('src/') && path.endsWith('.test.ts');
}

/** Packages that the lock file does not mark as needed for development only, as far as they are for this machine. */
async function runtimePackages(): Promise<string[]> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
  };
  const found: string[] = [];
  for (const [path, facts] of Object.entries(lock.packages)) {
    if (path === '' || facts.dev === true) continue;
    if (
      await stat(join(root, path)).then(
        (each) => each.isDirectory(),
        () => false,
      )
    )
      found.push(path);
  }
  return found;
}

/** Regular files below a directory, in the order of their names; nothing that lies in packages inside packages twice. */
async function filesBelow(directory: string, depth: number): Promise<string[]> {
  if (depth > directoriesDeepMax) throw new SluiceError('InputTooLarge', `${directory} is nested too deep`);
  const found: string[] = [];
  const entries = await readdir(directory, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => comparePaths(a.name, b.name))) {
    if (entry.isDirectory()) {
      const below = await filesBelow(join(directory, entry.name), depth + 1);
      found.push(...below.map((path) => `${entry.name}/${path}`));
    } else if (entry.isFile()) found.push(entry.name);
  }
  return found;
}
