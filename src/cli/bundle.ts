import { Command } from 'commander';
import type { MediaReport } from '../bundle/medium.ts';
import type { VerifyProblem } from '../bundle/verify.ts';
import { isSluiceError, SluiceError, systemCode } from '../errors/error.ts';
import type { Media } from '../media/media.ts';
import type { TrustedKey } from '../trust/keys.ts';
import { collect } from './arguments.ts';
import { buildCommand } from './bundle-build.ts';
import {
  deltaObject,
  type InspectedBundle,
  showBundle,
  showReport,
  trustedKeysDirectory,
} from './bundle-report.ts';
import { formatFlag, formatHelp, note, parseFormat, print, printObject } from './output.ts';
import { createProgress } from './progress.ts';

export function command(): Command {
  const root = new Command('bundle').description(
    'Build, sign, inspect and verify bundles: a release with everything it needs, on a disk.',
  );
  root.addCommand(buildCommand());
  root.addCommand(inspectCommand());
  root.addCommand(verifyCommand());
  root.addCommand(keygenCommand());
  root.addHelpText(
    'after',
    `
Examples:
  sluice bundle keygen --out ./keys
  sluice bundle build --payload oci:./release:1.1.0 --image web=oci:./images:web --key ./keys/sluice.key --out /media/usb
  sluice bundle verify /media/usb --key ./keys/sluice.pub
  sluice bundle inspect /media/usb`,
  );
  return root;
}

function inspectCommand(): Command {
  return new Command('inspect')
    .description('Show what bundles hold. Without --key their signatures are not looked at.')
    .argument('<bundle>', 'a directory, an .iso, .squashfs or .tar file, or a directory of its parts')
    .option('--key <file>', 'a public key to trust; repeatable', collect)
    .option(formatFlag, formatHelp)
    .addHelpText('after', '\nExample:\n  sluice bundle inspect /media/usb -o yaml')
    .action(async (path: string, options: { key?: string[]; output?: string }) => inspect(path, options));
}

function verifyCommand(): Command {
  return new Command('verify')
    .description('Verify signature and every byte of every bundle. Ends with 6 where something is wrong.')
    .argument('<bundle>', 'a directory, an .iso, .squashfs or .tar file, or a directory of its parts')
    .option(
      '--key <file>',
      `a public key to trust; repeatable; default: ${trustedKeysDirectory}/*.pub`,
      collect,
    )
    .option('--only-program', 'look at the program that travels along (sluice-program/), not at the bundles')
    .option(formatFlag, formatHelp)
    .addHelpText('after', '\nExample:\n  sluice bundle verify /media/usb --key sluice.pub')
    .action(async (path: string, options: VerifyOptions) => verify(path, options));
}

function keygenCommand(): Command {
  return new Command('keygen')
    .description(
      'Make a key to sign bundles with: sluice.key (keep it secret) and sluice.pub (give it to clusters).',
    )
    .requiredOption('--out <directory>', 'where they are written; existing files are never overwritten')
    .option('--encrypt', 'encrypt the private key with a password, in the form that cosign takes as well')
    .option(
      '--key-password-file <file>',
      'the password for --encrypt; default: COSIGN_PASSWORD, or asked for',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  sluice bundle keygen --out ./keys\n  sluice bundle keygen --out ./keys --encrypt',
    )
    .action(keygen);
}

async function openPath(path: string): Promise<Media> {
  const { openMedia } = await import('../media/media.ts');
  return await openMedia(path);
}

async function readKeys(files: readonly string[]): Promise<TrustedKey[]> {
  const { readFile } = await import('node:fs/promises');
  const { basename } = await import('node:path');
  const { loadTrustedKeys, parseTrustedKey } = await import('../trust/keys.ts');
  if (files.length === 0) return await loadTrustedKeys(trustedKeysDirectory);
  return await Promise.all(
    files.map(async (file) => {
      const pem = await readFile(file, 'utf8').catch((cause: unknown) => {
        const what = systemCode(cause) === 'ENOENT' ? 'does not exist' : 'cannot be read';
        throw new SluiceError('NotFound', `the key ${file} ${what}`, { cause });
      });
      return parseTrustedKey(basename(file, '.pub'), pem);
    }),
  );
}

async function inspect(path: string, options: { key?: string[]; output?: string }): Promise<void> {
  const format = parseFormat(options.output);
  const media = await openPath(path);
  try {
    const { openBundle, readUnverifiedBundle } = await import('../bundle/bundle.ts');
    const { readDelta } = await import('../bundle/delta.ts');
    const { bundleTags } = await import('../bundle/listing.ts');
    const keys = options.key === undefined ? undefined : await readKeys(options.key);
    const bundles: InspectedBundle[] = [];
    for (const name of await bundleTags(media.content)) {
      const { digest, document, signedBy } =
        keys === undefined
          ? { ...(await readUnverifiedBundle(media.content, { name })), signedBy: undefined }
          : await openBundle(media.content, { name }, keys);
      bundles.push({ digest, document, signedBy, delta: await readDelta(media.content, digest, keys) });
    }
    if (bundles.length === 0) throw new SluiceError('MediaUnreadable', `${path} carries no release bundle`);
    if (format === 'json' || format === 'yaml') {
      const shown = bundles.map((each) => ({
        ...each,
        ...(each.delta === undefined ? {} : { delta: deltaObject(each.delta) }),
      }));
      return await printObject({ path, format: media.format, bundles: shown }, format);
    }
    for (const bundle of bundles) showBundle(bundle, format);
  } finally {
    await media.close();
  }
}

interface VerifyOptions {
  readonly key?: string[];
  readonly output?: string;
  readonly onlyProgram?: true;
}

async function verify(path: string, options: VerifyOptions): Promise<void> {
  const format = parseFormat(options.output);
  const keys = await readKeys(options.key ?? []);
  const progress = createProgress();
  let report: MediaReport;
  try {
    const media = await openPath(path);
    try {
      if (options.onlyProgram === true) {
        await showReport({ bundles: [], problems: await programProblems(media, keys) }, path, format, keys);
        return;
      }
      const { verifyMedia } = await import('../bundle/medium.ts');
      let moved = 0;
      report = await verifyMedia(media, keys, {
        onProgress: ({ bytesDone, bytesTotal }) => {
          if (Date.now() - moved < 100 && bytesDone < bytesTotal) return;
          moved = Date.now();
          progress.update([{ label: 'verifying', done: bytesDone, total: bytesTotal }]);
        },
      });
    } finally {
      await media.close();
    }
  } catch (error) {
    if (!isSluiceError(error, 'MediaUnreadable')) throw error;
    const { hasTraceOfBundle } = await import('../media/trace.ts');
    if (!(await hasTraceOfBundle(path))) throw notABundle(path, error);
    // A bundle that cannot even be read as such has failed the verification, whatever else is wrong with it.
    report = {
      bundles: [],
      problems: [{ image: path, digest: undefined, code: error.code, problem: error.message }],
    };
  }
  progress.end();
  await showReport(report, path, format, keys);
}

/** Nothing signed was there to be damaged: the path is the mistake. */
function notABundle(path: string, cause: SluiceError): SluiceError {
  const why = cause.message.startsWith(`${path} `) ? `it${cause.message.slice(path.length)}` : cause.message;
  return new SluiceError('MediaUnreadable', `${path} is not a bundle: ${why}`, {
    next: 'Did you mean the mount point of the disk, or the .iso, .squashfs or .tar file that bundle build wrote?',
    cause,
  });
}

/** Errors: NotFound where no program travels along. */
async function programProblems(media: Media, keys: readonly TrustedKey[]): Promise<VerifyProblem[]> {
  const { programDirectory, verifyProgram } = await import('../bundle/program.ts');
  if ((await media.tree.list(programDirectory)).length === 0) {
    throw new SluiceError('NotFound', `${media.path} carries no program: there is no ${programDirectory}/`);
  }
  const problems = await verifyProgram(media.tree, keys);
  if (problems.length === 0) note(`${programDirectory}/ is what was signed`);
  return problems;
}

async function keygen(options: { out: string; encrypt?: true; keyPasswordFile?: string }): Promise<void> {
  const { writeKeys } = await import('../build/keygen.ts');
  const { readKeyPassword } = await import('./key-password.ts');
  const asked = options.encrypt === true || options.keyPasswordFile !== undefined;
  const password = asked
    ? await readKeyPassword('sluice.key', { file: options.keyPasswordFile, twice: true })
    : undefined;
  const keys = await writeKeys(options.out, password);
  print(`${keys.privatePath}  the private key: keep it secret, sign with it`);
  print(`${keys.publicPath}  the public key: give it to every cluster (key ${keys.key.id})`);
  print(`fingerprint (SHA-256 of the public key): ${keys.key.fingerprint}`);
}
