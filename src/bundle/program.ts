import { SluiceError } from '../errors/error.ts';
import { sha256OfFile, type Tree } from '../store/tree.ts';
import { parseChecksums, signerOf } from '../trust/checksums.ts';
import { describeKeys, type TrustedKey } from '../trust/keys.ts';
import type { VerifyProblem } from './verify.ts';

/** Directory of media that holds the program itself (`bundle build --with-sluice`). */
export const programDirectory = 'sluice-program';
export const programSums = 'SHA256SUMS';
export const programSignature = 'SHA256SUMS.sig';

const listBytesMax = 1024 * 1024;
const depthMax = 64;

/**
 * Verifies the program on media: a trusted key signed its list, each file is the one that is listed, and no file is
 * there besides. Answers what is wrong; nothing where media carry none. Errors: MediaLost.
 */
export async function verifyProgram(tree: Tree, keys: readonly TrustedKey[]): Promise<VerifyProblem[]> {
  const names = await filesBelow(tree, programDirectory, 0);
  if (names.length === 0) return [];
  const problems: VerifyProblem[] = [];
  const report = (name: string, code: VerifyProblem['code'], problem: string) =>
    problems.push({ image: `${programDirectory}/${name}`, digest: undefined, code, problem });
  const sums = await readSmall(tree, programSums);
  const signature = await readSmall(tree, programSignature);
  if (sums === undefined || signature === undefined) {
    report(programSums, 'SignatureMissing', 'the program on the media is not signed');
    return problems;
  }
  if (signerOf(sums, signature, keys) === undefined) {
    report(
      programSums,
      'SignatureUntrusted',
      `no trusted key signed the program on the media; trusted: ${describeKeys(keys)}`,
    );
    return problems;
  }
  const listed = parseChecksums(Buffer.from(sums).toString('utf8'), `${programDirectory}/${programSums}`);
  for (const name of names) {
    if (name === programSums || name === programSignature) continue;
    const wanted = listed.get(name);
    listed.delete(name);
    if (wanted === undefined) report(name, 'DigestMismatch', 'it is not among the files that were signed');
    else if ((await hashOf(tree, `${programDirectory}/${name}`)) !== wanted)
      report(name, 'DigestMismatch', 'it holds other bytes than were signed');
  }
  for (const name of listed.keys()) report(name, 'ContentMissing', 'it is not there');
  return problems;
}

async function filesBelow(tree: Tree, path: string, depth: number): Promise<string[]> {
  if (depth > depthMax)
    throw new SluiceError('InputTooLarge', `${tree.label} is nested deeper than ${depthMax}`);
  const found: string[] = [];
  for (const entry of await tree.list(path)) {
    const inner = `${path}/${entry.name}`;
    if (entry.directory) found.push(...(await filesBelow(tree, inner, depth + 1)));
    else found.push(inner.slice(programDirectory.length + 1));
  }
  return found;
}

async function readSmall(tree: Tree, name: string): Promise<Uint8Array | undefined> {
  const file = await tree.open(`${programDirectory}/${name}`);
  if (file === undefined) return undefined;
  try {
    if (file.size > listBytesMax) throw new SluiceError('InputTooLarge', `${name} has ${file.size} bytes`);
    return await file.read(0, file.size);
  } finally {
    await file.close();
  }
}

async function hashOf(tree: Tree, path: string): Promise<string> {
  const file = await tree.open(path);
  if (file === undefined) return '';
  try {
    return await sha256OfFile(file);
  } finally {
    await file.close();
  }
}
