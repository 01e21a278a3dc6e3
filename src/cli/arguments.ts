import { SluiceError } from '../errors/error.ts';

/** For options that may be given several times. */
export function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}

/** Words separated by commas, given once or several times. */
export function collectList(value: string, earlier: string[] = []): string[] {
  return [...earlier, ...value.split(',').flatMap((each) => (each.trim() === '' ? [] : [each.trim()]))];
}

/** Reads `NAME=VALUE` words. Errors: Usage (no `=`, or a name twice). */
export function assignments(option: string, words: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const word of words) {
    const equals = word.indexOf('=');
    const name = word.slice(0, equals);
    if (equals <= 0 || equals === word.length - 1) {
      throw new SluiceError('Usage', `${option} ${word} is not NAME=VALUE`);
    }
    if (found.has(name)) throw new SluiceError('Usage', `${option} is given twice for ${name}`);
    found.set(name, word.slice(equals + 1));
  }
  return found;
}

/** The name out of `kind/name`, as `-o name` prints it, for one of these kinds; any other word is a name already. */
export function bareName(word: string, ...kinds: readonly string[]): string {
  const kind = kinds.find((each) => word.startsWith(`${each}/`));
  return kind === undefined ? word : word.slice(kind.length + 1);
}
