import type { CopyReport } from './report.ts';

/**
 * Progress in words that change at most a hundred times while a release is copied: the bytes follow from the
 * rounded share, so that equal percents are equal texts and the status is not written for each chunk.
 *
 * @example `Copying to 3 of 3 nodes: 46% (1.2 GiB of 2.6 GiB)`
 */
export function copyMessage(
  copies: readonly CopyReport[],
  tally: { readonly held: number; readonly nodes: number },
): string {
  const moving = copies.filter((copy) => copy.state === 'Copying' || copy.state === 'Verifying');
  const total = sum(copies.map((copy) => copy.bytesTotal));
  const percent = total === 0 ? 0 : Math.floor((sum(copies.map((copy) => copy.bytesDone)) / total) * 100);
  const amount = `${percent}% (${bytesInWords((total * percent) / 100)} of ${bytesInWords(total)})`;
  const held = tally.held > 0 ? `; held by ${tally.held}` : '';
  const waits = [...new Set(copies.flatMap((copy) => copy.message ?? []))].sort();
  const why = waits.length > 0 ? `; ${waits.join('; ')}` : '';
  if (moving.length === 0) return `Paused at ${amount}${held}${why}`;
  const word = moving.every((copy) => copy.state === 'Verifying') ? 'Verifying on' : 'Copying to';
  return `${word} ${moving.length} of ${tally.nodes} nodes: ${amount}${held}${why}`;
}

/** `1.2 GiB`: powers of 1024, one digit after the point below a hundred. */
export function bytesInWords(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
