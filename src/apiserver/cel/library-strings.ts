import { listItemsMax, stringUnitsMax } from './budget.ts';
import { type CallContext, type Library, library } from './library.ts';
import { formatDouble, regex } from './library-standard.ts';
import { formatDuration, formatTimestamp } from './time.ts';
import {
  CelError,
  CelList,
  CelMap,
  CelType,
  type CelValue,
  Duration,
  Timestamp,
  typeNameOf,
  Uint,
} from './values.ts';

/** cel-go's `ext.Strings()` version 2 and Kubernetes' regex library (`find`, `findAll`). Positions count code points. */
export const stringsLibrary: Library = library({
  'string.charAt(int): string'(text: string, at: bigint) {
    const points = split(this, text);
    if (at < 0n || at > points.length) throw new CelError(`index out of range: ${at}`);
    return points[Number(at)] ?? '';
  },
  'string.indexOf(string): int | string.indexOf(string, int): int'(text: string, part: string, from = 0n) {
    return BigInt(indexOf(split(this, text), [...part], from, 1));
  },
  'string.lastIndexOf(string): int | string.lastIndexOf(string, int): int'(
    text: string,
    part: string,
    from?: bigint,
  ) {
    const points = split(this, text);
    const wanted = [...part];
    return BigInt(indexOf(points, wanted, from ?? BigInt(Math.max(points.length - wanted.length, 0)), -1));
  },
  'string.lowerAscii(): string'(text: string) {
    return made(
      this,
      text.replace(/[A-Z]+/g, (upper) => upper.toLowerCase()),
    );
  },
  'string.upperAscii(): string'(text: string) {
    return made(
      this,
      text.replace(/[a-z]+/g, (lower) => lower.toUpperCase()),
    );
  },
  'string.trim(): string'(text: string) {
    return made(this, text.trim());
  },
  'string.replace(string, string): string | string.replace(string, string, int): string'(
    text: string,
    from: string,
    to: string,
    count = -1n,
  ) {
    return replace(this, text, from, to, Number(count));
  },
  'string.split(string): list<string> | string.split(string, int): list<string>'(
    text: string,
    separator: string,
    count = -1n,
  ) {
    return new CelList(splitBy(this, text, separator, Number(count)));
  },
  'string.substring(int): string | string.substring(int, int): string'(
    text: string,
    start: bigint,
    end?: bigint,
  ) {
    const points = split(this, text);
    const last = end ?? BigInt(points.length);
    if (start < 0n || start > points.length) throw new CelError(`index out of range: ${start}`);
    if (last < 0n || last > points.length) throw new CelError(`index out of range: ${last}`);
    if (start > last) throw new CelError(`invalid substring range. start: ${start}, end: ${last}`);
    return points.slice(Number(start), Number(last)).join('');
  },
  'list<string>.join(): string | list<string>.join(string): string'(list: CelList, separator = '') {
    let units = separator.length * list.items.length;
    for (const item of list.items) {
      if (typeof item !== 'string') throw new CelError('no such overload');
      units += item.length;
    }
    checkUnits(units);
    return made(this, (list.items as readonly string[]).join(separator));
  },
  'string.format(list): string'(text: string, args: CelList) {
    return made(this, format(text, args.items));
  },
  'strings.quote(string): string'(_namespace: CelValue, text: string) {
    return made(this, JSON.stringify(text));
  },

  'string.find(string): string'(text: string, pattern: string) {
    const found = regex(pattern).find(text, 0, this.budget);
    return found === undefined ? '' : text.slice(found.start, found.end);
  },
  'string.findAll(string): list<string> | string.findAll(string, int): list<string>'(
    text: string,
    pattern: string,
    count = -1n,
  ) {
    return new CelList(findAll(this, text, pattern, count < 0n ? listItemsMax : Number(count)));
  },
});

function split(context: CallContext, text: string): string[] {
  context.budget.spendUnits(text.length * 4);
  return [...text];
}

function made(context: CallContext, text: string): string {
  context.budget.spendUnits(text.length);
  return text;
}

function checkUnits(units: number): void {
  if (units > stringUnitsMax) throw new CelError(`string of more than ${stringUnitsMax} characters`);
}

function indexOf(points: readonly string[], part: readonly string[], from: bigint, step: 1 | -1): number {
  if (part.length === 0) return Number(from);
  if (from < 0n) throw new CelError(`index out of range: ${from}`);
  for (let at = Number(from); at >= 0 && at < points.length; at += step) {
    if (part.every((point, offset) => points[at + offset] === point)) return at;
  }
  return -1;
}

function replace(context: CallContext, text: string, from: string, to: string, count: number): string {
  const parts = splitBy(context, text, from, count < 0 ? -1 : count + 1);
  checkUnits(text.length + to.length * parts.length);
  // An empty pattern matches before every character and at the end (Go, strings.Replace).
  const joined = parts.join(to);
  if (from !== '' || count === 0) return made(context, joined);
  return made(context, `${to}${joined}${count < 0 || count > parts.length ? to : ''}`);
}

/** Go's strings.SplitN: 0 gives nothing, negative everything, n at most n parts. */
function splitBy(context: CallContext, text: string, separator: string, count: number): string[] {
  context.budget.spendUnits(text.length * 4);
  if (count === 0) return [];
  const parts = separator === '' ? [...text] : text.split(separator);
  if (parts.length > listItemsMax) throw new CelError(`list of more than ${listItemsMax} items`);
  if (count < 0 || parts.length <= count) return parts;
  return [...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)];
}

function findAll(context: CallContext, text: string, pattern: string, count: number): string[] {
  const compiled = regex(pattern);
  const all: string[] = [];
  let from = 0;
  while (all.length < count && from <= text.length) {
    const found = compiled.find(text, from, context.budget);
    if (found === undefined) break;
    all.push(text.slice(found.start, found.end));
    from = found.end > found.start ? found.end : found.end + 1;
  }
  return all;
}

const formatWidthMax = 1000;

/** `%s %d %f %e %b %x %X %o` with an optional precision (cel-go, ext/formatting.go). */
function format(text: string, args: readonly CelValue[]): string {
  let next = 0;
  return text.replace(/%(?:(%)|(?:\.(\d{1,4}))?([a-zA-Z]))/g, (_all, percent, precision, verb) => {
    if (percent !== undefined) return '%';
    const value = args[next++];
    if (value === undefined) throw new CelError(`index ${next - 1} out of range`);
    const digits = Math.min(Number(precision ?? 6), formatWidthMax);
    return formatOne(verb, value, digits);
  });
}

function formatOne(verb: string, value: CelValue, digits: number): string {
  const number = value instanceof Uint ? value.value : value;
  switch (verb) {
    case 's':
      return formatText(value);
    case 'd':
      if (typeof number === 'bigint' || typeof number === 'number') return String(number);
      break;
    case 'f':
      if (typeof number === 'number' || typeof number === 'bigint') {
        return Number(number).toFixed(Math.min(digits, 100));
      }
      break;
    case 'e':
      if (typeof number === 'number' || typeof number === 'bigint') {
        return scientific(Number(number), digits);
      }
      break;
    case 'b':
      if (typeof number === 'boolean') return number ? '1' : '0';
      if (typeof number === 'bigint') return number.toString(2);
      break;
    case 'o':
      if (typeof number === 'bigint') return number.toString(8);
      break;
    case 'x':
    case 'X': {
      const hex = hexOf(number);
      if (hex !== undefined) return verb === 'x' ? hex : hex.toUpperCase();
      break;
    }
    default:
      throw new CelError(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
  }
  throw new CelError(`error during formatting: no formatting function for ${typeNameOf(value)} and %${verb}`);
}

function hexOf(value: CelValue): string | undefined {
  if (typeof value === 'bigint') return value.toString(16);
  if (typeof value === 'string') return Buffer.from(value, 'utf8').toString('hex');
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : undefined;
}

/** How a value reads in `%s`. */
export function formatText(value: CelValue): string {
  if (typeof value === 'string') return value;
  if (value === null) return 'null';
  if (typeof value === 'number') return formatDouble(value);
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (value instanceof Uint) return value.value.toString();
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof CelType) return value.name;
  if (value instanceof CelList) return `[${value.items.map(formatMember).join(', ')}]`;
  if (value instanceof CelMap) {
    const entries = value
      .keys()
      .map((key) => `${formatMember(key)}:${formatMember(value.get(key) as CelValue)}`);
    return `{${entries.sort().join(', ')}}`;
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  throw new CelError(`error during formatting: string clause can not format a ${typeNameOf(value)}`);
}

/** As cel-go writes an exponent, for people: `1.500000 × 10⁰³` with narrow spaces. */
function scientific(value: number, digits: number): string {
  const [mantissa = '', exponent = ''] = value.toExponential(Math.min(digits, 100)).split('e');
  const raised = exponent
    .replace('+', '')
    .replace(/\d+/, (number) => number.padStart(2, '0'))
    .replace('-', '⁻')
    .replace(/\d/g, (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)] as string);
  return `${mantissa}\u202f×\u202f10${raised}`;
}

/** Inside of lists and maps values are written as literals (cel-go, ext/formatting.go). */
function formatMember(value: CelValue): string {
  const text = formatText(value);
  if (typeof value === 'string') return JSON.stringify(text);
  if (typeof value === 'number') return Number.isFinite(value) ? value.toFixed(6) : JSON.stringify(text);
  if (value instanceof Uint8Array) return `b${JSON.stringify(text)}`;
  if (value instanceof Timestamp) return `timestamp(${JSON.stringify(text)})`;
  return value instanceof Duration ? `duration(${JSON.stringify(text)})` : text;
}
