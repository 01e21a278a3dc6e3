/** Classes of characters in regular expressions, by code point. */

/** Whether a code point belongs to a class. */
export type CharTest = (codePoint: number) => boolean;

export const digit = ranges('09');
export const word = ranges('09AZaz__');
export const space = ranges('\t\n\f\r  ');

export const posix: Record<string, CharTest> = {
  alnum: ranges('09AZaz'),
  alpha: ranges('AZaz'),
  ascii: (c) => c < 128,
  blank: ranges('\t\t  '),
  cntrl: (c) => c < 32 || c === 127,
  digit,
  graph: (c) => c > 32 && c < 127,
  lower: ranges('az'),
  print: (c) => c >= 32 && c < 127,
  punct: ranges('!/:@[`{~'),
  space: ranges('\t\r  '),
  upper: ranges('AZ'),
  word,
  xdigit: ranges('09AFaf'),
};

/** Letters that stand for control characters after a backslash. */
export const controlEscapes: Record<string, number> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 };

export function isWordCharacter(codePoint: number): boolean {
  return word(codePoint);
}

/** A class from pairs of first and last character: `'09az'` is `[0-9a-z]`. */
function ranges(pairs: string): CharTest {
  const points = [...pairs].map(codePointOf);
  return (c) => {
    for (let at = 0; at < points.length; at += 2) {
      if (c >= (points[at] as number) && c <= (points[at + 1] as number)) return true;
    }
    return false;
  };
}

export function not(test: CharTest): CharTest {
  return (c) => !test(c);
}

/** The other cases of a character, where they are one character too. */
export function foldsOf(codePoint: number): number[] {
  const text = String.fromCodePoint(codePoint);
  return [text.toLowerCase(), text.toUpperCase()]
    .filter((folded) => [...folded].length === 1)
    .map(codePointOf);
}

export function codePointOf(text: string): number {
  return text.codePointAt(0) as number;
}

/** A general category (`Lu`, `L`) or script (`Greek`), as JavaScript's own tables know it. */
export function unicodeTest(name: string): CharTest | undefined {
  if (name === 'Any') return () => true;
  for (const property of [`gc=${name}`, `sc=${name}`]) {
    try {
      const single = new RegExp(`^\\p{${property}}$`, 'u');
      return (c) => single.test(String.fromCodePoint(c));
    } catch {
      // Not of this property: try the next.
    }
  }
  return undefined;
}
