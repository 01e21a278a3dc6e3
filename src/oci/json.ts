import { SluiceError } from '../errors/error.ts';

const depthMax = 64;

/**
 * Reads a JSON document that others may read too: refuses what two readers could understand differently
 * (bytes that are not UTF-8, a key twice in one object) and what is nested too deep.
 *
 * @param what for the message, 'a manifest'. Errors: InputInvalid, InputTooLarge.
 */
export function parseStrictJson(bytes: Uint8Array, what: string): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new SluiceError('InputInvalid', `${what} is not UTF-8`, { cause: error });
  }
  // The walk comes first: the depth must be known before anything recursive sees the document.
  checkStructure(text, what);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SluiceError('InputInvalid', `${what} is not JSON: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function checkStructure(text: string, what: string): void {
  // One set of keys for each open object, undefined for an open array.
  const open: (Set<string> | undefined)[] = [];
  let keyNext = false;
  for (let at = 0; at < text.length; at += 1) {
    switch (text[at]) {
      case '{':
        open.push(new Set());
        keyNext = true;
        break;
      case '[':
        open.push(undefined);
        keyNext = false;
        break;
      case '}':
      case ']':
        open.pop();
        keyNext = false;
        break;
      case ',':
        keyNext = open.at(-1) !== undefined;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (end < 0) throw new SluiceError('InputInvalid', `${what} is not JSON: a text does not end`);
        if (keyNext) noteKey(open.at(-1), text.slice(at, end + 1), what);
        keyNext = false;
        at = end;
        break;
      }
    }
    if (open.length > depthMax) {
      throw new SluiceError('InputTooLarge', `${what} is nested deeper than ${depthMax}`);
    }
  }
}

/** Where the string that begins at `at` has its closing quote; -1 where it has none. No pattern: those need a stack. */
function endOfString(text: string, at: number): number {
  for (let index = at + 1; index < text.length; index += 1) {
    const letter = text[index];
    if (letter === '"') return index;
    if (letter === '\\') index += 1;
  }
  return -1;
}

function noteKey(keys: Set<string> | undefined, quoted: string, what: string): void {
  // The same key can be written with different escapes.
  let key = quoted;
  if (quoted.includes('\\')) {
    try {
      key = JSON.stringify(JSON.parse(quoted));
    } catch (error) {
      throw new SluiceError('InputInvalid', `${what} is not JSON: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }
  if (keys?.has(key)) throw new SluiceError('InputInvalid', `${what} has the key ${key.slice(0, 80)} twice`);
  keys?.add(key);
}
