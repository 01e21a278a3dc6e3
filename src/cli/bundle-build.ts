import { Command } from 'commander';
import type { BuiltBundle } from '../build/bundle.ts';
import type { ProgramFiles } from '../build/program.ts';
import type { ReleaseSignatureOptions } from '../build/release-signatures.ts';
import { describeBase } from '../bundle/delta.ts';
import type { BundleRole } from '../bundle/document.ts';
import { SluiceError } from '../errors/error.ts';
import { shellWord } from '../process/shell.ts';
import { assignments, collect, collectList } from './arguments.ts';
import { deltaObject } from './bundle-report.ts';
import {
  type Format,
  formatFlag,
  formatHelp,
  humanBytes,
  note,
  paint,
  parseFormat,
  print,
  printObject,
} from './output.ts';
import { createProgress } from './progress.ts';
import { type RegistryOptions, registryAccess } from './registry-access.ts';

/** `sluice bundle build`. */
export function buildCommand(): Command {
  return new Command('build')
    .description('Build and sign a bundle from a release payload and its images.')
    .requiredOption('--payload <source>', 'the release payload, a source as below')
    .option(
      '--image <name=source...>',
      'an image; NAME is its tag or repository in the payload, or a reference of its own; repeatable',
      collect,
    )
    .option(
      '--role <name=role...>',
      'role of an image outside the payload: operator, catalog, check or additional; repeatable',
      collect,
    )
    .option(
      '--platform <os/arch...>',
      'keep only these platforms of images for several; repeatable',
      collectList,
    )
    .option('--os-image <tag>', 'the image that nodes boot, where labels do not tell')
    .option('--payload-repository <repository>', 'repository by which clusters name the payload')
    .option(
      '--release-signatures <store...>',
      'OpenPGP signatures of the release: a directory or address with sha256=<hex>/signature-1, or a file of ConfigMaps; repeatable',
      collect,
    )
    .option(
      '--release-keyring <file...>',
      'OpenPGP keys by which the release must be signed; repeatable',
      collect,
    )
    .requiredOption('--key <file>', 'the private key to sign with: of sluice bundle keygen, or of cosign')
    .option(
      '--key-password-file <file>',
      'where the key is encrypted; default: COSIGN_PASSWORD, or asked for',
    )
    .requiredOption('--out <path>', 'a directory, or a file that ends in .iso, .squashfs or .tar')
    .option(
      '--since <base>',
      'make a delta: leave out what the base has; a bundle, or the output of sluice inventory',
    )
    .option(
      '--with-sluice [dir]',
      'put the program, its image, manifests and documentation on the media, for day one (default: those of this program)',
    )
    .option(
      '--split <size>',
      'cut the output into parts of at most this size: 4095M for FAT, 4G for a data diode',
    )
    .option(
      '--authfile <file>',
      'passwords of registries; default: those of podman login, skopeo login, docker login',
    )
    .option('--ca <file>', 'authorities to believe besides the system and /etc/containers/certs.d')
    .option('--registries-conf <file>', 'mirrors of registries; default: /etc/containers/registries.conf')
    .option(
      '--insecure-registry <host...>',
      'a registry without TLS, or with any certificate; repeatable',
      collect,
    )
    .option(formatFlag, formatHelp)
    .addHelpText(
      'after',
      `
Sources: docker://HOST/NAME[:TAG][@DIGEST]   oci:DIR[:REF]   oci-archive:FILE[:REF]   docker-archive:FILE[:NAME:TAG]
         media:PATH#NAME[:TAG]  (a disk in the layout of a registry that others made: signing it anew is the
         decision to trust it, and each byte is hashed on the way)

Images that the payload's own place holds need no --image; those of a payload from a registry come from where the
payload names them. Signatures, attestations and referrers travel along. HTTPS_PROXY and NO_PROXY are honoured.
A directory that has bundles already gets one more. Nothing is signed before all of it is there; a build that was
interrupted goes on when it is run again.

Examples:
  sluice bundle build --payload oci:./release:1.1.0 --image web=oci:./images:web --key sluice.key --out /media/usb
  sluice bundle build --payload oci:./release:1.1.0 --image registry.example/tools/curl:8=oci:./images:curl \\
      --key sluice.key --out release-1.1.0.iso
  sluice bundle build --payload oci:./release:1.1.1 --since inventory.json --key sluice.key --out 1.1.1-delta.iso --split 4095M
  sluice bundle build --payload docker://quay.io/okd/scos-release:4.20.0 --platform linux/amd64 \\
      --key sluice.key --out okd-4.20.0.iso`,
    )
    .action(async (options: BuildOptions) => build(options));
}

interface BuildOptions extends RegistryOptions {
  payload: string;
  image?: string[];
  role?: string[];
  osImage?: string;
  payloadRepository?: string;
  platform?: string[];
  split?: string;
  since?: string;
  withSluice?: string | true;
  releaseSignatures?: string[];
  releaseKeyring?: string[];
  key: string;
  keyPasswordFile?: string;
  out: string;
  output?: string;
}

async function build(options: BuildOptions): Promise<void> {
  const format = parseFormat(options.output);
  const { buildBundle } = await import('../build/bundle.ts');
  if (options.withSluice === true) {
    const { ensureBuilt } = await import('../console/build.ts');
    const console = await ensureBuilt(note);
    if ('next' in console) note(`the web console is not on the disk: it is not built. ${console.next}`);
  }
  const privatePem = await readPrivateKey(options.key, options.keyPasswordFile);
  const progress = createProgress();
  const started = Date.now();
  let moved = 0;
  const built = await buildBundle({
    payload: options.payload,
    images: assignments('--image', options.image ?? []),
    roles: await readRoles(options.role ?? []),
    privatePem,
    out: options.out,
    access: registryAccess(options),
    ...(options.platform === undefined ? {} : { platforms: await readPlatforms(options.platform) }),
    ...(await readReleaseSignatureOptions(options)),
    ...(await readProgram(options.withSluice)),
    ...(options.since === undefined ? {} : { since: options.since }),
    ...(options.split === undefined ? {} : { splitBytes: await readSplit(options.split) }),
    ...(options.osImage === undefined ? {} : { osImage: options.osImage }),
    ...(options.payloadRepository === undefined ? {} : { payloadRepository: options.payloadRepository }),
    onProgress: ({ bytesDone, bytesTotal }) => {
      // Each chunk tells of itself; a terminal needs no more than a few pictures a second.
      if (Date.now() - moved < 100 && bytesDone < bytesTotal) return;
      moved = Date.now();
      const rate = (bytesDone / Math.max(1, moved - started)) * 1000;
      progress.update([{ label: 'copying', done: bytesDone, total: bytesTotal, rate }]);
    },
  });
  progress.end();
  const publicKey = await publicKeyBeside(options.key, privatePem);
  await showBuilt(built, built.files[0] ?? options.out, publicKey, format);
}

/** The file with the other half of a private key, where it lies beside it as bundle keygen and cosign put it. */
async function publicKeyBeside(file: string, privatePem: string): Promise<string | undefined> {
  const { readFile } = await import('node:fs/promises');
  const { parseTrustedKey, publicKeyOf, publicKeySuffix } = await import('../trust/keys.ts');
  const path = file.replace(/\.key$/, '') + publicKeySuffix;
  try {
    const { fingerprint } = parseTrustedKey(path, await readFile(path, 'utf8'));
    return fingerprint === publicKeyOf(privatePem, file).fingerprint ? path : undefined;
  } catch {
    return undefined; // There is none, or something else has that name.
  }
}

async function readPrivateKey(file: string, passwordFile: string | undefined): Promise<string> {
  const { readFile } = await import('node:fs/promises');
  const pem = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new SluiceError('NotFound', `the key ${file} cannot be read`, {
      cause,
      next: 'Make one with: sluice bundle keygen --out DIR',
    });
  });
  const { decryptKey, isEncryptedKey } = await import('../trust/encrypted-key.ts');
  if (!isEncryptedKey(pem)) {
    const { parsePrivateKey } = await import('../trust/keys.ts');
    parsePrivateKey(pem, file);
    return pem;
  }
  const { readKeyPassword } = await import('./key-password.ts');
  return decryptKey(pem, await readKeyPassword(file, { file: passwordFile }), file);
}

async function readProgram(given: string | true | undefined): Promise<{ program?: ProgramFiles }> {
  if (given === undefined) return {};
  const { findProgramFiles } = await import('../build/program.ts');
  return { program: await findProgramFiles(given === true ? undefined : given) };
}

async function readReleaseSignatureOptions(
  options: BuildOptions,
): Promise<{ releaseSignatures?: ReleaseSignatureOptions }> {
  const { releaseSignatures: stores, releaseKeyring: files = [] } = options;
  if (stores === undefined) {
    if (files.length === 0) return {};
    throw new SluiceError('Usage', '--release-keyring is given without --release-signatures');
  }
  const { readFile } = await import('node:fs/promises');
  const { basename } = await import('node:path');
  const keyrings = files.map(async (file) => {
    const keys = await readFile(file).catch((cause: unknown) => {
      throw new SluiceError('NotFound', `the keyring ${file} cannot be read`, { cause });
    });
    return { name: basename(file), keys };
  });
  return { releaseSignatures: { stores, keyrings: await Promise.all(keyrings), env: process.env } };
}

async function readSplit(text: string): Promise<number> {
  const { parseSplitSize } = await import('../build/split.ts');
  return parseSplitSize(text);
}

async function readPlatforms(words: readonly string[]): Promise<readonly string[]> {
  const { isPlatformName } = await import('../oci/platform.ts');
  const wrong = words.find((each) => !isPlatformName(each));
  if (wrong === undefined) return words;
  throw new SluiceError('Usage', `--platform ${wrong} is not a platform`, { next: 'Write linux/amd64.' });
}

async function readRoles(words: readonly string[]): Promise<Map<string, BundleRole>> {
  const { bundleRoles } = await import('../bundle/document.ts');
  const allowed = bundleRoles.filter((role) => role !== 'payload' && role !== 'component');
  const roles = new Map<string, BundleRole>();
  for (const [name, word] of assignments('--role', words)) {
    const role = allowed.find((each) => each === word);
    if (role === undefined)
      throw new SluiceError('Usage', `--role ${name}=${word}: use one of ${allowed.join(', ')}`);
    roles.set(name, role);
  }
  return roles;
}

async function showBuilt(
  built: BuiltBundle,
  path: string,
  publicKey: string | undefined,
  format: Format,
): Promise<void> {
  const { document, digest } = built;
  for (const each of built.notes) note(`note: ${each}`);
  if (format === 'json' || format === 'yaml')
    return await printObject(
      {
        digest,
        path,
        files: built.files,
        document,
        ...(built.delta === undefined ? {} : { delta: deltaObject(built.delta) }),
      },
      format,
    );
  if (format === 'name') return print(document.name);
  const bytes = document.images.reduce((sum, image) => sum + image.closureBytes, 0);
  print(`${document.name} ${paint('green', 'built and signed')}: ${path}`);
  print(`  digest   ${digest}`);
  if (built.files.length > 1) print(`  parts    ${built.files.length - 1}; keep them together with ${path}`);
  if (built.delta !== undefined)
    print(`  delta    needs ${describeBase(built.delta)} in the cluster, and is of no use elsewhere`);
  print(`  images   ${document.images.length}, ${humanBytes(bytes)} with what several of them share`);
  print(`  verify   sluice bundle verify ${shellWord(path)} --key ${shellWord(publicKey ?? 'FILE')}`);
}
