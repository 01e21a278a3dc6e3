const suffixes: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

const form = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d+))?$/;

/**
 * A resource quantity as a number of its base unit: cores, bytes, Pods (API conventions, "Quantity"). Undefined for
 * text that is none. Doubles suffice: nothing here compares amounts beyond 2^53 exactly.
 */
export function parseQuantity(text: string | number): number | undefined {
  if (typeof text === 'number') return Number.isFinite(text) ? text : undefined;
  const match = form.exec(text.trim());
  if (match === null) return undefined;
  const [, digits = '', suffix = '', exponent] = match;
  const value = Number(digits) * (exponent === undefined ? (suffixes[suffix] ?? 1) : 10 ** Number(exponent));
  return Number.isFinite(value) ? value : undefined;
}

/** `count` or a percentage of `of`, rounded up or down (IntOrString fields). Undefined for text that is neither. */
export function scaled(value: number | string, of: number, round: 'up' | 'down'): number | undefined {
  if (typeof value === 'number') return value;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  if (percent === undefined) return undefined;
  const exact = (Number(percent) * of) / 100;
  return round === 'up' ? Math.ceil(exact) : Math.floor(exact);
}
