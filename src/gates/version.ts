import { SluiceError } from '../errors/error.ts';

/**
 * A version after Semantic Versioning 2.0.0. Numeric parts stay text: nightlies carry numbers that a double cannot
 * hold exactly.
 */
export interface Version {
  readonly text: string;
  readonly major: string;
  readonly minor: string;
  readonly patch: string;
  readonly prerelease: readonly string[];
}

const versionCharsMax = 256;
const number = '(0|[1-9]\\d*)';
const identifier = '(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)';
const pattern = new RegExp(
  `^${number}\\.${number}\\.${number}(?:-(${identifier}(?:\\.${identifier})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
);

/** The version, or undefined where the text is none: `4.9`, `v4.9.1`, `4.09.1` and spaces are refused. */
export function tryVersion(text: string): Version | undefined {
  if (text.length > versionCharsMax) return undefined;
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, major = '', minor = '', patch = '', prerelease] = match;
  return { text, major, minor, patch, prerelease: prerelease === undefined ? [] : prerelease.split('.') };
}

/** Errors: InputInvalid. */
export function parseVersion(text: string): Version {
  const version = tryVersion(text);
  if (version === undefined) {
    throw new SluiceError('InputInvalid', `"${text}" is not a semantic version`, {
      next: 'Write all three numbers, as in 4.19.2.',
    });
  }
  return version;
}

/** Precedence (Semantic Versioning 2.0.0, item 11): below 0, 0 or above 0. Build metadata does not count. */
export function compareVersions(a: Version, b: Version): number {
  return (
    compareNumbers(a.major, b.major) ||
    compareNumbers(a.minor, b.minor) ||
    compareNumbers(a.patch, b.patch) ||
    comparePrereleases(a.prerelease, b.prerelease)
  );
}

/** Whether going from one to the other is a patch move: major and minor are equal, pre-releases do not count. */
export function sameMinor(a: Version, b: Version): boolean {
  return a.major === b.major && a.minor === b.minor;
}

/** Sorts texts newest first; what is no version comes last, in the order of its characters. */
export function newestFirst(a: string, b: string): number {
  const left = tryVersion(a);
  const right = tryVersion(b);
  if (left !== undefined && right !== undefined) return compareVersions(right, left);
  if (left === undefined && right === undefined) return a < b ? -1 : a > b ? 1 : 0;
  return left === undefined ? 1 : -1;
}

function compareNumbers(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return b.length - a.length;
  for (let index = 0; index < Math.max(a.length, b.length); index += 1) {
    const left = a[index];
    const right = b[index];
    if (left === undefined) return -1;
    if (right === undefined) return 1;
    const order = compareIdentifiers(left, right);
    if (order !== 0) return order;
  }
  return 0;
}

function compareIdentifiers(a: string, b: string): number {
  const numericA = /^\d+$/.test(a);
  const numericB = /^\d+$/.test(b);
  if (numericA && numericB) return compareNumbers(a, b);
  if (numericA !== numericB) return numericA ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
