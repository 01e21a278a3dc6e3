import { isIPv4, isIPv6 } from 'node:net';
import { parseQuantity } from '../cel/quantity.ts';
import { compileRegex } from '../cel/regex.ts';
import { labelProblems, subdomainProblems } from './names.ts';
import { parseUri } from './uri.ts';

/**
 * String formats that schemas of custom resources may ask for (apiextensions-apiserver, validation/formats.go; a name
 * with or without dashes). A format that is not here is not checked, as there.
 */
const formats: Record<string, (text: string) => boolean> = {
  // What Go reads as bytes; `byte` is what schemas of custom kinds mean by it, which may not be empty.
  base64: (text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text),
  byte: (text) => text !== '' && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text),
  cidr: isCidr,
  date: isDate,
  datetime: isDateTime,
  duration: (text) => text.length <= textUnitsMax && durationPattern.test(text),
  email: (text) => text.length <= textUnitsMax && /^[^\s@<>]+@[^\s@<>]+$/.test(text),
  hexcolor: (text) => /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text),
  hostname: isHostname,
  ipv4: (text) => isIPv4(text),
  ipv6: (text) => isIPv6(text) && !text.includes('%'),
  k8slongname: (text) => subdomainProblems(text).length === 0,
  k8sshortname: (text) => labelProblems(text).length === 0,
  mac: (text) => /^([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$|^([0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}$/.test(text),
  password: () => true,
  quantity: (text) => parseQuantity(text) !== undefined,
  uri: (text) => parseUri(text) !== undefined,
  uuid: (text) => uuidPattern('[0-9a-f]').test(text),
  uuid3: (text) => uuidPattern('3').test(text),
  uuid4: (text) => uuidPattern('4', '[89ab]').test(text),
  uuid5: (text) => uuidPattern('5', '[89ab]').test(text),
};

const textUnitsMax = 1024;
const durationPattern =
  /^[+-]?(\d+(\.\d+)?\s?(ns|us|µs|μs|ms|s|m|h|d|w|hour|hours|minute|minutes|second|seconds|day|days|week|weeks))+$|^[+-]?0$/;

/** Whether `text` is of the format; true for a format that is not known. */
export function hasFormat(format: string, text: string): boolean {
  return formats[format.replaceAll('-', '')]?.(text) ?? true;
}

/** RFC 3339 full-date. */
export function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (match === null) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.getUTCDate() === Number(match[3]);
}

/** RFC 3339 date-time. */
export function isDateTime(text: string): boolean {
  const match = /^(\d{4}-\d\d-\d\d)[tT](\d\d):(\d\d):(\d\d)(\.\d{1,9})?([zZ]|[+-]\d\d:\d\d)$/.exec(text);
  if (match === null || !isDate(match[1] as string)) return false;
  return Number(match[2]) < 24 && Number(match[3]) < 60 && Number(match[4]) < 61;
}

/** As kube-openapi's strfmt has it, which differs from RFC 1123. */
const hostnamePattern =
  '^([a-zA-Z0-9\\p{S}\\p{L}]((-?[a-zA-Z0-9\\p{S}\\p{L}]{0,62})?)|([a-zA-Z0-9\\p{S}\\p{L}](([a-zA-Z0-9-\\p{S}\\p{L}]{0,61}[a-zA-Z0-9\\p{S}\\p{L}])?)(\\.)){1,}([a-zA-Z\\p{L}]){2,63})$';

function isHostname(text: string): boolean {
  if (text.length > 255 || text.split('.').some((part) => part.length > 63)) return false;
  return compileRegex(hostnamePattern).test(text);
}

function isCidr(text: string): boolean {
  const match = /^([^/%]+)\/(\d{1,3})$/.exec(text);
  if (match === null) return false;
  const address = match[1] as string;
  return Number(match[2]) <= (isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1);
}

function uuidPattern(version: string, variant = '[0-9a-f]'): RegExp {
  return new RegExp(
    `^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`,
    'i',
  );
}
