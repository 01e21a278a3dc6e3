import { readFile } from 'node:fs/promises';
import { SluiceError } from '../errors/error.ts';

/** Bytes of a file with a password. */
const passwordBytesMax = 4096;

/**
 * The password of a private key: of a file (its first line), of `COSIGN_PASSWORD` as cosign itself takes it, or asked
 * for on a terminal. Never an argument, since others see those. Errors: InputInvalid, Usage where there is none.
 */
export async function readKeyPassword(
  name: string,
  options: { readonly file?: string | undefined; readonly twice?: boolean } = {},
): Promise<string> {
  if (options.file !== undefined) {
    const text = await readFile(options.file, 'utf8');
    if (text.length > passwordBytesMax)
      throw new SluiceError('InputInvalid', `${options.file} is too long for a password`);
    return text.split(/\r?\n/, 1)[0] ?? '';
  }
  const { COSIGN_PASSWORD } = process.env;
  if (COSIGN_PASSWORD !== undefined) return COSIGN_PASSWORD;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new SluiceError('Usage', `the key ${name} is encrypted, and no password is given`, {
      next: 'Set COSIGN_PASSWORD, or give a file: --key-password-file FILE.',
    });
  }
  const password = await ask(`Password of ${name}: `);
  if (options.twice === true && (await ask('Once more: ')) !== password)
    throw new SluiceError('Usage', 'the two passwords differ');
  return password;
}

const enter = ['\r', '\n', '\u0004'];
const erase = ['\u007f', '\b'];
const interrupt = '\u0003';

/** Reads a line from the terminal without showing it. */
async function ask(question: string): Promise<string> {
  const { stdin, stderr } = process;
  stderr.write(question);
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  let text = '';
  try {
    for await (const chunk of stdin.iterator({ destroyOnReturn: false })) {
      for (const each of chunk as string) {
        if (enter.includes(each)) return text;
        if (each === interrupt) process.exit(130);
        text = erase.includes(each) ? text.slice(0, -1) : text + each;
      }
    }
    return text;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}
