import { type Delta, describeBase } from '../bundle/delta.ts';
import type { BundleDocument } from '../bundle/document.ts';
import type { MediaReport } from '../bundle/medium.ts';
import type { VerifyProblem, VerifyReport } from '../bundle/verify.ts';
import { writeAgain } from '../media/cut.ts';
import { counted } from '../observe/count.ts';
import { describeKeys, type TrustedKey } from '../trust/keys.ts';
import { type Format, humanBytes, note, paint, print, printObject, printTable } from './output.ts';

/** Where `bundle verify` and nodes look for the keys they trust. */
export const trustedKeysDirectory = '/etc/sluice/trusted-keys';
const exitVerificationFailed = 6;

export interface InspectedBundle {
  readonly digest: string;
  /** Undefined: not looked at. */
  readonly signedBy: { id: string; name: string } | undefined;
  readonly document: BundleDocument;
  readonly delta?: Delta | undefined;
}

/** Shows what one bundle holds. */
export function showBundle({ digest, document, signedBy, delta }: InspectedBundle, format: Format): void {
  if (format === 'name') {
    print(document.name);
    return;
  }
  const { os } = document;
  const facts: [string, string][] = [
    ['Name', document.name],
    ['Digest', digest],
    [
      'Signature',
      signedBy === undefined ? 'not looked at (give --key)' : `by ${signedBy.name} (key ${signedBy.id})`,
    ],
    ['Version', `${document.version} for ${document.arch}`],
    ['Update from', document.previous.join(', ') || 'nothing: for new clusters only'],
    ['OS image', os === undefined ? 'none: nodes do not reboot into it' : osLine(os)],
    ['Payload', document.payload],
    ...(document.platforms === undefined
      ? []
      : [['Platforms', document.platforms.join(', ')] as [string, string]]),
    ...(delta === undefined ? [] : [['Delta', deltaLine(delta)] as [string, string]]),
  ];
  for (const [label, value] of facts) print(`${`${label}:`.padEnd(13)}${value}`);
  print('');
  const wide = format === 'wide';
  printTable(
    ['IMAGE', 'ROLE', 'SIZE', 'DIGEST', 'SOURCE', ...(wide ? ['REPOSITORY'] : [])],
    document.images.map((image) => [
      image.name,
      image.role,
      humanBytes(image.closureBytes),
      wide ? image.digest : `${image.digest.slice(0, 19)}…`,
      image.source,
      ...(wide ? [`${image.repository}:${image.tag}`] : []),
    ]),
  );
}

function osLine(os: NonNullable<BundleDocument['os']>): string {
  const facts = [
    os.version === undefined ? [] : `version ${os.version}`,
    os.kernel === undefined ? [] : `kernel ${os.kernel}`,
  ];
  return [os.tag, ...facts.flat()].join(', ');
}

/** Shows what a verification found, and sets the exit code. */
export async function showReport(
  report: MediaReport,
  path: string,
  format: Format,
  keys: readonly TrustedKey[],
): Promise<void> {
  const { problemsOf } = await import('../bundle/medium.ts');
  const problems = problemsOf(report);
  const verified = problems.length === 0;
  if (!verified) process.exitCode = exitVerificationFailed;
  if (format === 'json' || format === 'yaml') {
    const bundles = report.bundles.map((each) => ({
      name: each.asked,
      digest: each.bundle?.digest,
      signedBy: each.bundle?.signedBy,
      blobs: each.hashed.size,
      bytes: each.bytes,
      ...(each.delta === undefined ? {} : { delta: deltaObject(each.delta) }),
      problems: each.problems,
    }));
    return await printObject({ path, verified, bundles, problems: report.problems }, format);
  }
  if (format === 'name') print(report.bundles.map((each) => each.asked).join('\n'));
  else for (const bundle of report.bundles) print(resultLine(bundle));
  for (const problem of problems) print(problemLine(problem));
  if (verified) return;
  note(`error: ${verdict(path, problems, keys)}`);
  note(`  next: ${nextStep(problems, keys)}`);
}

function resultLine(report: VerifyReport): string {
  const { bundle, problems, asked } = report;
  if (bundle === undefined || problems.length > 0) return `${asked}  ${paint('red', 'FAILED')}`;
  const { signedBy, document } = bundle;
  return [
    `${asked}  ${paint('green', 'verified')}`,
    `  signed by  ${signedBy.name} (key ${signedBy.id})`,
    `  digest     ${bundle.digest}`,
    `  content    ${counted(document.images.length, 'image')}, ${counted(report.hashed.size, 'blob')}, ${humanBytes(report.bytes)}, each byte hashed`,
    ...(report.delta === undefined ? [] : [`  delta      ${deltaLine(report.delta)}`]),
  ].join('\n');
}

function deltaLine(delta: Delta): string {
  const bytes = [...delta.lacks.values()].reduce((sum, size) => sum + size, 0);
  return `not whole: ${counted(delta.lacks.size, 'blob')} (${humanBytes(bytes)}) must be in the cluster already, with ${describeBase(delta)}`;
}

/** For scripts: what a delta needs. */
export function deltaObject(delta: Delta): object {
  const bytes = [...delta.lacks.values()].reduce((sum, size) => sum + size, 0);
  return { since: delta.since, blobs: delta.lacks.size, bytes };
}

function problemLine({ image, digest, code, problem }: VerifyProblem): string {
  const where = digest === undefined || problem.includes(digest) ? '' : ` (${digest})`;
  const text = problem.startsWith(image) ? problem : `${image}: ${problem}`;
  return `  ${paint('red', code)}  ${text}${where}`;
}

/** A key that is not given says nothing about the disk: it may be as good as ever. */
function verdict(path: string, problems: readonly VerifyProblem[], keys: readonly TrustedKey[]): string {
  const codes = new Set(problems.map((each) => each.code));
  if (codes.size === 1 && codes.has('SignatureUntrusted')) {
    const given = keys.length === 0 ? 'no key is trusted' : `not by ${describeKeys(keys)}`;
    return `${path} could not be verified: it is signed, but ${given}`;
  }
  if (codes.size === 1 && codes.has('SignatureMissing'))
    return `${path} could not be verified: it is not signed`;
  if (codes.size === 1 && codes.has('MediaUnreadable')) return `${path} cannot be read as a bundle`;
  return `${path} is not what was signed: ${counted(problems.length, 'problem')}`;
}

function nextStep(problems: readonly VerifyProblem[], keys: readonly TrustedKey[]): string {
  const codes = new Set(problems.map((each) => each.code));
  if (keys.length === 0) return `No key is trusted: give --key, or put keys into ${trustedKeysDirectory}.`;
  if (codes.has('SignatureUntrusted'))
    return 'Give the key that signed it (--key FILE), if you know whose it is; its maker can tell you its fingerprint.';
  if (codes.has('SignatureMissing'))
    return 'It was never signed, or its signature was removed: ask its maker.';
  return writeAgain;
}
