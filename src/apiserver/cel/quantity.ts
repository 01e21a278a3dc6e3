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

/** The quantity in nano units (rounded up), undefined where the text is none. */
export function parseQuantity(text: string): bigint | undefined {
  if (text.length > quantityUnitsMax) return undefined;
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d{1,2})|([A-Za-z]{0,2}))$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent, suffix = ''] = match;
  if (whole === '' && fraction === '') return undefined;
  const scale = exponent === undefined ? suffixScale(suffix) : exponentScale(Number(exponent.slice(1)));
  if (scale === undefined) return undefined;
  const denominator = 10n ** BigInt(fraction.length) * scale.divide;
  const numerator = BigInt(`${whole}${fraction}`) * scale.multiply;
  const nanos = (numerator + denominator - 1n) / denominator;
  return sign === '-' ? -nanos : nanos;
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
