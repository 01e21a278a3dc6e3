import {
  type CharTest,
  codePointOf,
  controlEscapes,
  digit,
  foldsOf,
  not,
  posix,
  space,
  unicodeTest,
  word,
} from './regex-class.ts';

/**
 * Reads the syntax of RE2 (https://github.com/google/re2/wiki/Syntax), which Kubernetes gives to `matches`, `find`
 * and schema patterns. What RE2 lacks, look-around and back-references, is refused: it has no linear-time matching.
 */

export type Assertion = 'lineStart' | 'lineEnd' | 'textStart' | 'textEnd' | 'word' | 'notWord';

export type RegexNode =
  | { readonly kind: 'empty' }
  | { readonly kind: 'char'; readonly test: CharTest }
  | { readonly kind: 'assert'; readonly assertion: Assertion }
  | { readonly kind: 'sequence'; readonly items: readonly RegexNode[] }
  | { readonly kind: 'choice'; readonly items: readonly RegexNode[] }
  | {
      readonly kind: 'repeat';
      readonly item: RegexNode;
      readonly min: number;
      readonly max: number;
      readonly lazy: boolean;
    };

/** RE2's own limits. */
export const repeatMax = 1000;
export const patternDepthMax = 200;
export const patternUnitsMax = 16 * 1024;

export class RegexSyntaxError extends Error {
  constructor(problem: string, where: string) {
    super(`error parsing regexp: ${problem}: \`${where}\``);
    this.name = 'RegexSyntaxError';
  }
}

interface Flags {
  readonly ignoreCase: boolean;
  readonly multiLine: boolean;
  readonly dotAll: boolean;
  readonly ungreedy: boolean;
}

const noFlags: Flags = { ignoreCase: false, multiLine: false, dotAll: false, ungreedy: false };

/** @throws RegexSyntaxError with Go's wording. */
export function parseRegex(pattern: string): RegexNode {
  if (pattern.length > patternUnitsMax) {
    throw new RegexSyntaxError('expression too large', `${pattern.slice(0, 32)}…`);
  }
  return new RegexParser(pattern).parse();
}

class RegexParser {
  readonly #pattern: string;
  readonly #points: readonly string[];
  #at = 0;
  #flags = noFlags;
  #depth = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#points = [...pattern];
  }

  parse(): RegexNode {
    const node = this.#choice();
    if (this.#at < this.#points.length) throw new RegexSyntaxError('unexpected )', this.#pattern);
    return node;
  }

  #peek(): string | undefined {
    return this.#points[this.#at];
  }

  #rest(length = 8): string {
    return this.#points.slice(this.#at, this.#at + length).join('');
  }

  #eat(text: string): boolean {
    const size = [...text].length;
    if (this.#points.slice(this.#at, this.#at + size).join('') !== text) return false;
    this.#at += size;
    return true;
  }

  #choice(): RegexNode {
    if (++this.#depth > patternDepthMax) {
      throw new RegexSyntaxError('expression nests too deeply', this.#pattern.slice(0, 32));
    }
    const items = [this.#sequence()];
    while (this.#eat('|')) items.push(this.#sequence());
    this.#depth--;
    return items.length === 1 ? (items[0] as RegexNode) : { kind: 'choice', items };
  }

  #sequence(): RegexNode {
    const items: RegexNode[] = [];
    for (let next = this.#peek(); next !== undefined && next !== '|' && next !== ')'; next = this.#peek()) {
      const start = this.#at;
      const atom = this.#atom();
      if (atom === undefined) continue;
      items.push(...atom.slice(0, -1), this.#repeated(atom.at(-1) ?? { kind: 'empty' }, start));
    }
    return { kind: 'sequence', items };
  }

  /** The literal text of `\Q…\E` gives several nodes, everything else one; a bare flag group none. */
  #atom(): RegexNode[] | undefined {
    const next = this.#points[this.#at++] as string;
    switch (next) {
      case '(':
        return this.#group();
      case '[':
        return [{ kind: 'char', test: this.#class() }];
      case '.':
        return [{ kind: 'char', test: this.#flags.dotAll ? () => true : (c) => c !== 10 }];
      case '^':
        return [{ kind: 'assert', assertion: this.#flags.multiLine ? 'lineStart' : 'textStart' }];
      case '$':
        return [{ kind: 'assert', assertion: this.#flags.multiLine ? 'lineEnd' : 'textEnd' }];
      case '\\':
        return this.#escape();
      case '*':
      case '+':
      case '?':
        throw new RegexSyntaxError('missing argument to repetition operator', next);
      default:
        return [this.#literal(codePointOf(next))];
    }
  }

  #literal(codePoint: number): RegexNode {
    return { kind: 'char', test: this.#folded((c) => c === codePoint) };
  }

  #folded(test: CharTest): CharTest {
    return this.#flags.ignoreCase ? (c) => test(c) || foldsOf(c).some(test) : test;
  }

  #group(): RegexNode[] | undefined {
    const outer = this.#flags;
    if (this.#eat('?')) {
      if (this.#eat('P<') || (/^<[A-Za-z0-9_]/.test(this.#rest(2)) && this.#eat('<'))) this.#groupName();
      else if (this.#readFlags()) return undefined;
    }
    const inner = this.#choice();
    if (!this.#eat(')')) throw new RegexSyntaxError('missing closing )', this.#pattern);
    this.#flags = outer;
    return [inner];
  }

  #groupName(): void {
    const start = this.#at;
    while (/^[A-Za-z0-9_]$/.test(this.#peek() ?? '')) this.#at++;
    if (this.#at === start || !this.#eat('>')) {
      throw new RegexSyntaxError('invalid named capture', this.#pattern);
    }
  }

  /** Reads `flags)` (true: they hold to the end of the group) or `flags:`. */
  #readFlags(): boolean {
    let on = true;
    const flags = { ...this.#flags };
    for (;;) {
      const next = this.#points[this.#at++];
      if (next === ')' || next === ':') {
        this.#flags = flags;
        return next === ')';
      }
      if (next === '-' && on) on = false;
      else if (next === 'i') flags.ignoreCase = on;
      else if (next === 'm') flags.multiLine = on;
      else if (next === 's') flags.dotAll = on;
      else if (next === 'U') flags.ungreedy = on;
      else throw new RegexSyntaxError('invalid or unsupported Perl syntax', `(?${next ?? ''}`);
    }
  }

  #repeated(item: RegexNode, start: number): RegexNode {
    const counts = this.#repeatCounts();
    if (counts === undefined) return item;
    const lazy = this.#eat('?') !== this.#flags.ungreedy;
    const node: RegexNode = { kind: 'repeat', item, min: counts[0], max: counts[1], lazy };
    const before = this.#at;
    if (this.#repeatCounts() !== undefined) {
      const text = this.#points.slice(start, this.#at).join('');
      throw new RegexSyntaxError('invalid nested repetition operator', text);
    }
    this.#at = before;
    if (repetitions(node) > repeatMax) {
      throw new RegexSyntaxError('invalid repeat count', this.#points.slice(start, this.#at).join(''));
    }
    return node;
  }

  #repeatCounts(): [number, number] | undefined {
    if (this.#eat('*')) return [0, Number.POSITIVE_INFINITY];
    if (this.#eat('+')) return [1, Number.POSITIVE_INFINITY];
    if (this.#eat('?')) return [0, 1];
    const braces = /^\{(\d{1,9})(,(\d{0,9}))?\}/.exec(this.#rest(24));
    if (braces === null) return undefined;
    const min = Number(braces[1]);
    const max =
      braces[2] === undefined ? min : braces[3] === '' ? Number.POSITIVE_INFINITY : Number(braces[3]);
    if (min > repeatMax || (max > repeatMax && max !== Number.POSITIVE_INFINITY) || max < min) {
      throw new RegexSyntaxError('invalid repeat count', braces[0]);
    }
    this.#at += braces[0].length;
    return [min, max];
  }

  #escape(): RegexNode[] {
    const next = this.#points[this.#at];
    const assertion = { A: 'textStart', z: 'textEnd', b: 'word', B: 'notWord' } as const;
    if (next !== undefined && Object.hasOwn(assertion, next)) {
      this.#at++;
      return [{ kind: 'assert', assertion: assertion[next as keyof typeof assertion] }];
    }
    if (next === 'Q') {
      this.#at++;
      return this.#quoted();
    }
    const set = this.#classEscape();
    if (set !== undefined) return [{ kind: 'char', test: this.#folded(set) }];
    return [this.#literal(this.#characterEscape())];
  }

  #quoted(): RegexNode[] {
    const nodes: RegexNode[] = [];
    while (this.#at < this.#points.length && !this.#eat('\\E')) {
      nodes.push(this.#literal(codePointOf(this.#points[this.#at++] as string)));
    }
    return nodes;
  }

  /** `\d`, `\pL`, …; the back slash is read already. */
  #classEscape(): CharTest | undefined {
    const perl: Record<string, CharTest> = { d: digit, w: word, s: space };
    const next = this.#peek();
    if (next === undefined) throw new RegexSyntaxError('trailing backslash at end of expression', '');
    const set = perl[next.toLowerCase()];
    if (set !== undefined) {
      this.#at++;
      return next === next.toLowerCase() ? set : not(set);
    }
    if (next !== 'p' && next !== 'P') return undefined;
    this.#at++;
    const test = this.#unicodeClass();
    return next === 'p' ? test : not(test);
  }

  #unicodeClass(): CharTest {
    const braces = /^\{(\^?)([A-Za-z_]+)\}/.exec(this.#rest(48));
    const name = braces === null ? (this.#peek() ?? '') : (braces[2] as string);
    this.#at += braces === null ? 1 : braces[0].length;
    const test = unicodeTest(name);
    if (test === undefined) throw new RegexSyntaxError('invalid character class range', `\\p{${name}}`);
    return braces?.[1] === '^' ? not(test) : test;
  }

  #characterEscape(): number {
    const next = this.#points[this.#at++] as string;
    const control = controlEscapes[next];
    if (control !== undefined) return control;
    if (next === 'x') {
      const hex = /^(?:\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{2}))/.exec(this.#rest(9));
      const value = Number.parseInt(hex?.[1] ?? hex?.[2] ?? '', 16);
      if (hex === null || value > 0x10ffff) throw new RegexSyntaxError('invalid escape sequence', '\\x');
      this.#at += hex[0].length;
      return value;
    }
    const octal = /^(?:0[0-7]{0,2}|[1-7][0-7]{1,2})/.exec(next + this.#rest(2));
    if (octal !== null) {
      this.#at += octal[0].length - 1;
      return Number.parseInt(octal[0], 8);
    }
    const code = codePointOf(next);
    if (code < 128 && !word(code)) return code;
    throw new RegexSyntaxError('invalid escape sequence', `\\${next}`);
  }

  #class(): CharTest {
    const start = this.#at - 1;
    const negated = this.#eat('^');
    const tests: CharTest[] = [];
    for (let first = true; first || this.#peek() !== ']'; first = false) {
      if (this.#at >= this.#points.length) {
        throw new RegexSyntaxError('missing closing ]', this.#points.slice(start).join(''));
      }
      tests.push(this.#classItem());
    }
    this.#at++;
    const any = this.#folded((c) => tests.some((test) => test(c)));
    return negated ? not(any) : any;
  }

  #classItem(): CharTest {
    const named = /^\[:(\^?)([a-z]+):\]/.exec(this.#rest(16));
    if (named !== null) {
      const test = posix[named[2] as string];
      if (test === undefined) throw new RegexSyntaxError('invalid character class range', named[0]);
      this.#at += named[0].length;
      return named[1] === '^' ? not(test) : test;
    }
    if (this.#peek() === '\\') {
      this.#at++;
      const set = this.#classEscape();
      if (set !== undefined) return set;
      this.#at--;
    }
    const low = this.#classCharacter();
    const isRange = this.#peek() === '-' && (this.#points[this.#at + 1] ?? ']') !== ']';
    if (!isRange) return (c) => c === low;
    this.#at++;
    const high = this.#classCharacter();
    if (high < low) throw new RegexSyntaxError('invalid character class range', this.#pattern);
    return (c) => c >= low && c <= high;
  }

  #classCharacter(): number {
    const next = this.#points[this.#at++];
    if (next === undefined) throw new RegexSyntaxError('missing closing ]', this.#pattern);
    return next === '\\' && this.#at < this.#points.length ? this.#characterEscape() : codePointOf(next);
  }
}

/** How often a node is written out when repeats are unrolled: RE2 bounds the product over nested repeats. */
function repetitions(node: RegexNode): number {
  switch (node.kind) {
    case 'repeat': {
      const own = Number.isFinite(node.max) ? Math.max(node.max, 1) : Math.max(node.min, 1);
      return own * repetitions(node.item);
    }
    case 'sequence':
    case 'choice':
      return Math.max(1, ...node.items.map(repetitions));
    default:
      return 1;
  }
}
