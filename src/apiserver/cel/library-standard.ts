import { type Library, library } from './library.ts';
import { compileRegex } from './regex.ts';
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp, timeField } from './time.ts';
import {
  CelError,
  type CelList,
  type CelMap,
  CelType,
  type CelValue,
  type Duration,
  Timestamp,
  typeNameOf,
  Uint,
  unconvertible,
} from './values.ts';

const intMax = 0x7fff_ffff_ffff_ffffn;
const intMin = -intMax - 1n;

/** A result within int64. @throws CelError */
export function checkedInt(value: bigint): bigint {
  if (value > intMax || value < intMin) throw new CelError('integer overflow');
  return value;
}

/** The standard functions of the CEL specification (cel-spec, langdef.md), without macros and operators. */
export const standardLibrary: Library = library({
  'size(string): int | string.size(): int'(text: string) {
    this.budget.spendUnits(text.length);
    return BigInt(codePoints(text));
  },
  'size(bytes): int | bytes.size(): int': (bytes: Uint8Array) => BigInt(bytes.length),
  'size(list): int | list.size(): int': (list: CelList) => BigInt(list.items.length),
  'size(map): int | map.size(): int': (map: CelMap) => BigInt(map.size),

  'dyn(dyn): dyn': (value: CelValue) => value,
  'type(dyn): type': (value: CelValue) => new CelType(typeNameOf(value)),
  'bool(bool): bool': (value: boolean) => value,
  'bool(string): bool': (text: string) => parseBool(text),
  'int(int): int': (value: bigint) => value,
  'int(uint): int': (value: Uint) => checkedInt(value.value),
  'int(double): int': (value: number) => {
    if (!Number.isFinite(value)) throw new CelError('integer overflow');
    return checkedInt(BigInt(Math.trunc(value)));
  },
  'int(string): int': (text: string) => checkedInt(parseInteger(text, 'int')),
  'int(timestamp): int': (time: Timestamp) => BigInt(Math.floor(time.date.getTime() / 1000)),
  'int(duration): int': (duration: Duration) => duration.nanos / 1_000_000_000n,
  'uint(uint): uint': (value: Uint) => value,
  'uint(int): uint': (value: bigint) => new Uint(value),
  'uint(double): uint': (value: number) => new Uint(BigInt(Math.trunc(Number.isFinite(value) ? value : -1))),
  'uint(string): uint': (text: string) => new Uint(parseInteger(text, 'uint')),
  'double(double): double': (value: number) => value,
  'double(int): double': (value: bigint) => Number(value),
  'double(uint): double': (value: Uint) => Number(value.value),
  'double(string): double': (text: string) => parseDouble(text),
  'string(string): string': (text: string) => text,
  'string(int): string': (value: bigint) => value.toString(),
  'string(bool): string': (value: boolean) => String(value),
  'string(uint): string': (value: Uint) => value.value.toString(),
  'string(double): string': (value: number) => formatDouble(value),
  'string(bytes): string': (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8'),
  'string(timestamp): string': (time: Timestamp) => formatTimestamp(time),
  'string(duration): string': (duration: Duration) => formatDuration(duration),
  'bytes(bytes): bytes': (bytes: Uint8Array) => bytes,
  'bytes(string): bytes'(text: string) {
    this.budget.spendUnits(text.length);
    return Buffer.from(text, 'utf8');
  },
  'timestamp(timestamp): timestamp': (time: Timestamp) => time,
  'timestamp(string): timestamp': (text: string) => parseTimestamp(text) ?? unconvertible('timestamp'),
  'timestamp(int): timestamp': (seconds: bigint) => new Timestamp(seconds * 1_000_000_000n),
  'duration(duration): duration': (duration: Duration) => duration,
  'duration(string): duration': (text: string) => parseDuration(text) ?? unconvertible('duration'),

  'string.contains(string): bool'(text: string, part: string) {
    this.budget.spendUnits(text.length);
    return text.includes(part);
  },
  'string.startsWith(string): bool'(text: string, part: string) {
    this.budget.spendUnits(part.length);
    return text.startsWith(part);
  },
  'string.endsWith(string): bool'(text: string, part: string) {
    this.budget.spendUnits(part.length);
    return text.endsWith(part);
  },
  'string.matches(string): bool | matches(string, string): bool'(text: string, pattern: string) {
    return regex(pattern).test(text, this.budget);
  },

  ...timestampGetter('getFullYear', 'year'),
  ...timestampGetter('getMonth', 'month'),
  ...timestampGetter('getDate', 'day'),
  ...timestampGetter('getDayOfMonth', 'day', -1),
  ...timestampGetter('getDayOfWeek', 'weekday'),
  ...timestampGetter('getDayOfYear', 'yearday'),
  ...timestampGetter('getHours', 'hour'),
  ...timestampGetter('getMinutes', 'minute'),
  ...timestampGetter('getSeconds', 'second'),
  'timestamp.getMilliseconds(): int': (time: Timestamp) => BigInt(time.date.getUTCMilliseconds()),
  'duration.getHours(): int': (duration: Duration) => duration.nanos / 3_600_000_000_000n,
  'duration.getMinutes(): int': (duration: Duration) => duration.nanos / 60_000_000_000n,
  'duration.getSeconds(): int': (duration: Duration) => duration.nanos / 1_000_000_000n,
  'duration.getMilliseconds(): int': (duration: Duration) => duration.nanos / 1_000_000n,
});

function timestampGetter(
  name: string,
  field: Parameters<typeof timeField>[1],
  offset = 0,
): Record<string, (time: Timestamp, zone?: string) => CelValue> {
  const read = (time: Timestamp, zone?: string): CelValue => {
    try {
      return BigInt(timeField(time, field, zone) + offset);
    } catch {
      throw new CelError(`unknown time zone ${zone}`);
    }
  };
  return { [`timestamp.${name}(): int | timestamp.${name}(string): int`]: read };
}

/** A regular expression of RE2; its errors are errors of evaluation. */
export function regex(pattern: string): ReturnType<typeof compileRegex> {
  try {
    return compileRegex(pattern);
  } catch (error) {
    throw new CelError((error as Error).message);
  }
}

export function codePoints(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0xdc00 || unit > 0xdfff) count++;
  }
  return count;
}

function parseBool(text: string): boolean {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
  if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text)) return false;
  return unconvertible('bool');
}

function parseInteger(text: string, type: string): bigint {
  return /^[+-]?\d{1,20}$/.test(text) ? BigInt(text.replace('+', '')) : unconvertible(type);
}

function parseDouble(text: string): number {
  const special: Record<string, number> = { inf: Infinity, '+inf': Infinity, '-inf': -Infinity, nan: NaN };
  const named = special[text.toLowerCase().replace('infinity', 'inf')];
  if (named !== undefined) return named;
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : unconvertible('double');
}

/** Go's shortest form (strconv, format 'g'): an exponent from a million on, and below a ten-thousandth. */
export function formatDouble(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  const magnitude = Math.abs(value);
  if (value === 0 || (magnitude >= 1e-4 && magnitude < 1e21 && !isExponential(magnitude)))
    return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}

function isExponential(magnitude: number): boolean {
  return Math.floor(Math.log10(magnitude)) >= 21 || magnitude >= 1e6;
}
