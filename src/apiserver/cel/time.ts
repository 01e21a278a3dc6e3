import { Duration, floorDivide, Timestamp } from './values.ts';

const unitNanos: Record<string, number> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};

const durationUnitsMax = 100;

/** Go's time.ParseDuration: `1h30m`, `-1.5s`; undefined where it is none. */
export function parseDuration(text: string): Duration | undefined {
  if (text === '0' || text === '+0' || text === '-0') return new Duration(0n);
  if (text.length > durationUnitsMax) return undefined;
  const match = /^([+-]?)((?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.exec(text);
  if (match === null) return undefined;
  let nanos = 0n;
  for (const part of text.matchAll(/(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g)) {
    const unit = unitNanos[part[3] as string] as number;
    nanos += BigInt(part[1] === '' ? 0 : (part[1] as string)) * BigInt(unit);
    if (part[2] !== '') nanos += BigInt(Math.trunc(Number(`0.${part[2]}`) * unit));
  }
  return new Duration(match[1] === '-' ? -nanos : nanos);
}

/** RFC 3339 with up to nine digits of fraction; undefined where it is none. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)$/i.exec(text);
  if (match === null) return undefined;
  const date = new Date(`${match[1]}${match[3]}`.toUpperCase());
  if (Number.isNaN(date.getTime())) return undefined;
  return new Timestamp(BigInt(date.getTime()) * 1_000_000n + BigInt((match[2] ?? '').padEnd(9, '0')));
}

export function formatTimestamp(time: Timestamp): string {
  const fraction = time.nanos - floorDivide(time.nanos, 1_000_000_000n) * 1_000_000_000n;
  const whole = time.date.toISOString().slice(0, 19);
  const digits = fraction === 0n ? '' : `.${String(fraction).padStart(9, '0').replace(/0+$/, '')}`;
  return `${whole}${digits}Z`;
}

/** Seconds with the fraction, as protobuf's JSON form and cel-go write it: `90s`, `1.5s`. */
export function formatDuration(duration: Duration): string {
  const sign = duration.nanos < 0n ? '-' : '';
  const nanos = duration.nanos < 0n ? -duration.nanos : duration.nanos;
  const fraction = nanos % 1_000_000_000n;
  const digits = fraction === 0n ? '' : `.${String(fraction).padStart(9, '0').replace(/0+$/, '')}`;
  return `${sign}${nanos / 1_000_000_000n}${digits}s`;
}

type Field = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'weekday' | 'yearday';

/** One field of a time in a zone (IANA name or ±hh:mm; UTC without). @throws RangeError for an unknown zone. */
export function timeField(time: Timestamp, field: Field, zone = 'UTC'): number {
  const local = inZone(time.date, zone);
  switch (field) {
    case 'year':
      return local.getUTCFullYear();
    case 'month':
      return local.getUTCMonth();
    case 'day':
      return local.getUTCDate();
    case 'hour':
      return local.getUTCHours();
    case 'minute':
      return local.getUTCMinutes();
    case 'second':
      return local.getUTCSeconds();
    case 'weekday':
      return local.getUTCDay();
    case 'yearday':
      return Math.floor((local.getTime() - Date.UTC(local.getUTCFullYear(), 0, 1)) / 86_400_000);
  }
}

/** A date whose UTC fields are the local fields in `zone`. */
function inZone(date: Date, zone: string): Date {
  if (zone === 'UTC') return date;
  const offset = /^([+-])?(\d\d):(\d\d)$/.exec(zone);
  if (offset !== null) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3]);
    return new Date(date.getTime() + (offset[1] === '-' ? -minutes : minutes) * 60_000);
  }
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const parts = Object.fromEntries(format.formatToParts(date).map((part) => [part.type, Number(part.value)]));
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return new Date(Date.UTC(year, month - 1, day, hour, minute, second));
}
