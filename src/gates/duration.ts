import { SluiceError } from '../errors/error.ts';

const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const durationMsMin = 1000;
const durationMsMax = 366 * 86_400_000;

/** Milliseconds of `90s`, `30m`, `24h`, `1d12h`, kept between one second and 366 days. Errors: InputInvalid. */
export function parseDuration(text: string): number {
  if (!/^(?:[0-9]{1,9}[smhd]){1,8}$/.test(text)) {
    throw new SluiceError('InputInvalid', `"${text.slice(0, 40)}" is not a duration such as 24h or 1d12h`);
  }
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9]+)([smhd])/g)) {
    total += Number(amount) * (units[unit ?? ''] ?? 0);
  }
  return Math.min(durationMsMax, Math.max(durationMsMin, total));
}
