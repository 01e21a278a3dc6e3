import { open } from 'node:fs/promises';
import { messageOf, SluiceError, systemCode } from '../errors/error.ts';
import { shellWord } from '../process/shell.ts';

const secretBytesMax = 4096;
/** What a server asks for has at least so many: fewer can be guessed. */
export const secretCharsMin = 16;

/**
 * The secret in a file: its text without the line's end. One that every user of the machine can read is none.
 * Errors: NotFound, InputInvalid.
 */
export async function readSecretFile(path: string): Promise<string> {
  try {
    const file = await open(path, 'r');
    try {
      const { mode, size } = await file.stat();
      if ((mode & 0o007) !== 0) {
        throw new SluiceError('InputInvalid', `every user of this machine can open ${path}`, {
          next: `Close it: chmod 600 ${shellWord(path)}`,
        });
      }
      if (size > secretBytesMax)
        throw new SluiceError('InputInvalid', `${path} is larger than ${secretBytesMax} bytes`);
      const text = (await file.readFile('utf8')).trim();
      // It becomes a header (RFC 9110, section 5.5).
      if (!/^[\x21-\x7e]+$/.test(text)) {
        throw new SluiceError(
          'InputInvalid',
          `${path} holds no secret: one line of printable characters is asked for`,
        );
      }
      return text;
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    const missing = systemCode(error) === 'ENOENT';
    throw new SluiceError(
      missing ? 'NotFound' : 'InputInvalid',
      `the secret cannot be read: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
}
