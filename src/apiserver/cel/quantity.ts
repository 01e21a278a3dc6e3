/**
 * Quantities of Kubernetes (apimachinery, pkg/api/resource/quantity.go): a decimal number with a suffix, kept exactly
 * in units of 10^-9 (nano), which is the finest that Kubernetes keeps.
 */
export const nanosPerUnit = 1_000_000_000n;

const decimalSuffixes: Record<string, bigint> = {
  n: 1n,
  u: 1_000n,
  m: 1_000_000n,
  '': nanosPerUnit,
  k: nanosPerUnit * 10n ** 3n,
  M: nanosPerUnit * 10n ** 6n,
  G: nanosPerUnit * 10n ** 9n,
  T: nanosPerUnit * 10n ** 12n,
  P: nanosPerUnit * 10n ** 15n,
  E: nanosPerUnit * 10n ** 18n,
};

const binarySuffixes: Record<string, bigint> = {
  Ki: nanosPerUnit * 2n ** 10n,
  Mi: nanosPerUnit * 2n ** 20n,
  Gi: nanosPerUnit * 2n ** 30n,
  Ti: nanosPerUnit * 2n ** 40n,
  Pi: nanosPerUnit * 2n ** 50n,
  Ei: nanosPerUnit * 2n ** 60n,
};

const quantityUnitsMax = 64;
const exponentMax = 40;

export interface Quantity {
  /** In units of 10^-9, rounded up. */
  readonly nanos: bigint;
  /** The whole number that it is, where Kubernetes keeps it as one: short, written without a fraction. */
  readonly integer: bigint | undefined;
}

/** Digits of a number that Kubernetes keeps as an integer, and of one with a binary suffix. */
const decimalDigitsMax = 18;
const binaryDigitsMax = 15;

/** A quantity, undefined where the text is none. */
export function parseQuantity(text: string): Quantity | undefined {
  if (text.length > quantityUnitsMax) return undefined;
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d{1,2})|([A-Za-z]{0,2}))$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent, suffix = ''] = match;
  if (whole === '' && fraction === '') return undefined;
  const scale = exponent === undefined ? suffixScale(suffix) : exponentScale(Number(exponent.slice(1)));
  if (scale === undefined) return undefined;
  const denominator = 10n ** BigInt(fraction.length) * scale.divide;
  const numerator = BigInt(`${whole}${fraction}`) * scale.multiply;
  const nanos = ((numerator + denominator - 1n) / denominator) * (sign === '-' ? -1n : 1n);
  return { nanos, integer: isShort(whole, fraction, suffix) ? wholeOf(nanos) : undefined };
}

/** Whether the fast path of Kubernetes' parser takes the number: only such a one can be read as an integer. */
function isShort(whole: string, fraction: string, suffix: string): boolean {
  const binaryExponent = (['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].indexOf(suffix) + 1) * 10;
  const digits = whole.replace(/^0+/, '').length;
  if (binaryExponent > 0) {
    return fraction === '' && binaryDigitsMax - digits - Math.trunc((binaryExponent * 3) / 10) - 1 >= 0;
  }
  const scale = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }[suffix] ?? 0;
  return scale - fraction.length >= 0 && digits + fraction.length <= decimalDigitsMax;
}

function wholeOf(nanos: bigint): bigint | undefined {
  if (nanos % nanosPerUnit !== 0n) return undefined;
  const whole = nanos / nanosPerUnit;
  return BigInt.asIntN(64, whole) === whole ? whole : undefined;
}

function suffixScale(suffix: string): { multiply: bigint; divide: bigint } | undefined {
  const multiply = Object.hasOwn(decimalSuffixes, suffix)
    ? decimalSuffixes[suffix]
    : Object.hasOwn(binarySuffixes, suffix)
      ? binarySuffixes[suffix]
      : undefined;
  return multiply === undefined ? undefined : { multiply, divide: 1n };
}

function exponentScale(exponent: number): { multiply: bigint; divide: bigint } | undefined {
  if (Math.abs(exponent) > exponentMax) return undefined;
  return exponent >= 0
    ? { multiply: nanosPerUnit * 10n ** BigInt(exponent), divide: 1n }
    : { multiply: nanosPerUnit, divide: 10n ** BigInt(-exponent) };
}
