import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { programDirectory, programSignature, programSums } from '../bundle/program.ts';
import { SluiceError, systemCode } from '../errors/error.ts';
import { programBuild, programVersion } from '../program/build.ts';
import { isPackaged, noticesFile, shippedFile, shippedFiles, shippedRoot } from '../program/files.ts';
import { formatChecksums, parseChecksums, signBytes } from '../trust/checksums.ts';
import { publicKeyOf } from '../trust/keys.ts';
import { comparePaths } from './tar.ts';

const directoriesDeepMax = 64;
/** What goes along from inside the program, by its path there. */
const folders = ['deploy', 'docs', 'crds'];
const files = ['LICENSE', 'CHANGELOG.md'];
/** The script that installs from media, and its name there. */
const installScript = 'deploy/install.sh';
const installName = 'install';

/** Files of the program for the machines of a fleet: single files and container images, by the name that they have. */
export interface ProgramFiles {
  readonly directory: string;
  /** Name on the media → where it is read. */
  readonly paths: ReadonlyMap<string, string>;
  /** SHA-256 in hexadecimal by name, where the directory says it. */
  readonly sums: ReadonlyMap<string, string>;
}

/** `sluice-0.1.0-linux-x64`, `sluice-0.1.0-image-linux-x64.oci.tar` */
function isProgramFile(name: string, version: string): boolean {
  return (
    name.startsWith(`sluice-${version}-`) &&
    /^(linux-\w+|image-linux-\w+\.oci\.tar)$/.test(name.slice(8 + version.length))
  );
}

/**
 * The files of this version that go onto media.
 *
 * @param directory where they lie; default: beside the single file that runs, which is one of them under whatever
 *   name; `dist/` of a checkout, where `npm run package` puts them.
 * Errors: NotFound where there is no program among them; InputInvalid (its SHA256SUMS).
 */
export async function findProgramFiles(directory?: string): Promise<ProgramFiles> {
  const version = programVersion();
  const where = directory ?? (isPackaged ? dirname(process.execPath) : join(shippedRoot, 'dist'));
  const names = await readdir(where).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return [];
    throw error;
  });
  const own = `sluice-${version}-linux-${process.arch}`;
  const paths = new Map(
    names.filter((name) => isProgramFile(name, version)).map((name) => [name, join(where, name)]),
  );
  if (isPackaged && directory === undefined) paths.set(own, process.execPath);
  if (![...paths.keys()].some((name) => !name.endsWith('.oci.tar'))) {
    throw new SluiceError(
      'NotFound',
      `${where} has no program sluice-${version}-linux-ARCH to put on the media`,
      {
        next: 'Make it (npm run package), or name the directory that has it: --with-sluice DIR.',
      },
    );
  }
  const list = (names as string[]).includes(programSums)
    ? await readFile(join(where, programSums), 'utf8')
    : '';
  return { directory: where, paths, sums: parseChecksums(list, join(where, programSums)) };
}

/**
 * Puts the program beside the bundles, with the script that installs it, its manifests, its documentation and the
 * public key, so that a machine with nothing else can begin. Each file is listed, and the list is signed with the
 * bundle's key.
 *
 * Errors: NotFound (a file of the program), DigestMismatch (it is not what its list says), DiskFull.
 */
export async function putProgram(media: string, privatePem: string, program: ProgramFiles): Promise<void> {
  const directory = join(media, programDirectory);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  for (const [name, path] of program.paths) {
    await pipeline(createReadStream(path), createWriteStream(join(directory, name), { flush: true }));
    if (!name.endsWith('.oci.tar')) await chmod(join(directory, name), 0o755);
  }
  const put = async (name: string, content: string | Uint8Array, mode = 0o644) => {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), content, { mode, flush: true });
  };
  for (const path of [...files, ...folders.flatMap(shippedFiles)]) {
    if (path !== installScript) await put(path, shippedFile(path));
  }
  await put(installName, shippedFile(installScript), 0o755);
  await put(noticesFile, isPackaged ? shippedFile(noticesFile) : await notices(program.directory));
  const key = publicKeyOf(privatePem, 'sluice');
  await put('sluice.pub', key.publicPem);
  await put('README.txt', readmeText([...program.paths.keys()].sort(), key));
  const sums = await sumsOf(directory);
  for (const name of program.paths.keys()) {
    const wanted = program.sums.get(name);
    if (wanted === undefined || wanted === sums.get(name)) continue;
    throw new SluiceError(
      'DigestMismatch',
      `${join(program.directory, name)} is not what ${programSums} there says`,
    );
  }
  const list = Buffer.from(formatChecksums(sums));
  await writeFile(join(directory, programSums), list, { flush: true });
  await writeFile(join(directory, programSignature), signBytes(list, privatePem), { flush: true });
}

async function notices(directory: string): Promise<Uint8Array> {
  return await readFile(join(directory, noticesFile)).catch((cause: unknown) => {
    throw new SluiceError('NotFound', `${directory} has no ${noticesFile}, which goes with the program`, {
      cause,
      next: 'Make the program anew: npm run package.',
    });
  });
}

async function sumsOf(directory: string): Promise<Map<string, string>> {
  const sums = new Map<string, string>();
  for (const path of await filesBelow(directory, 0)) {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(join(directory, path))) hash.update(chunk as Uint8Array);
    sums.set(path, hash.digest('hex'));
  }
  return sums;
}

function readmeText(names: readonly string[], key: { id: string; fingerprint: string }): string {
  const { version, commit } = programBuild();
  const program = names.find((name) => !name.endsWith('.oci.tar')) ?? '';
  const image = names.find((name) => name.endsWith('.oci.tar'));
  return `Sluice ${version} (commit ${commit}): updates clusters that have no internet.

Before anything else, compare this fingerprint with one that came to you in another way than on this disk:

  key ${key.id}
  SHA-256 of the public key  ${key.fingerprint}
  openssl pkey -pubin -in sluice.pub -outform DER | sha256sum

Then prove that nothing here was changed (any machine with openssl, before you run anything of this disk):

  openssl dgst -sha256 -verify sluice.pub -signature ${programSignature} ${programSums} && sha256sum --quiet -c ${programSums}

Install it; nothing else is needed on the machine. It verifies once more what it installs, and can take it away again:

  sh ./install --fingerprint ${key.fingerprint}
  sh ./install --help

Or look at the disk without installing anything:

  cp ${program} /tmp/sluice && /tmp/sluice bundle verify .. --key sluice.pub

${names.map((name) => `${name}\n`).join('')}
deploy/ holds the manifests, systemd units and rules, crds/ the kinds, docs/ the documentation (begin with
docs/install.md), ${noticesFile} the licences of all that is in the program.${
    image === undefined
      ? ''
      : `
The container image is an OCI archive: podman load -i ${image}; ctr -n k8s.io images import ${image}`
  }
`;
}

/** Regular files below a directory, in the order of their names. */
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
