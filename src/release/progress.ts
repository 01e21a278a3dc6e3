import { humanBytes } from '../observe/bytes.ts';
import type { CopyReport } from './report.ts';

/**
 * Progress in words that change at most a hundred times while a release is copied: the bytes follow from the
 * rounded share, so that equal percents are equal texts and the status is not written for each chunk. It counts every
 * node, those that hold the release and those that have not begun as well, so that it never runs backwards when a
 * node begins, verifies or ends.
 *
 * @example `Copying to 3 of 3 nodes: 46% (1.2 GiB of 2.6 GiB)`
 */
export function copyMessage(
  copies: readonly CopyReport[],
  tally: { readonly held: number; readonly nodes: number },
): string {
  const moving = copies.filter((copy) => copy.state === 'Copying' || copy.state === 'Verifying');
  const held = tally.held > 0 ? `; held by ${tally.held}` : '';
  const waits = [...new Set(copies.flatMap((copy) => copy.message ?? []))].sort();
  const why = waits.length > 0 ? `; ${waits.join('; ')}` : '';
  const verifying = moving.length > 0 && moving.every((copy) => copy.state === 'Verifying');
  const amount = verifying ? verifiedAmount(moving) : copiedAmount(copies, tally);
  if (moving.length === 0) return `Paused at ${amount}${held}${why}`;
  const word = verifying ? 'Verifying on' : 'Copying to';
  return `${word} ${moving.length} of ${tally.nodes} nodes: ${amount}${held}${why}`;
}

/** A node that verifies, or holds the release, has copied all of it; one that has not begun, nothing. */
function copiedAmount(
  copies: readonly CopyReport[],
  tally: { readonly held: number; readonly nodes: number },
): string {
  const each = Math.max(0, ...copies.map((copy) => copy.bytesTotal));
  const done = copies.map((copy) => (copy.state === 'Verifying' ? copy.bytesTotal : copy.bytesDone));
  return amountOf(sum(done) + tally.held * each, Math.max(tally.nodes, copies.length) * each);
}

function verifiedAmount(copies: readonly CopyReport[]): string {
  return amountOf(sum(copies.map((copy) => copy.bytesDone)), sum(copies.map((copy) => copy.bytesTotal)));
}

function amountOf(done: number, total: number): string {
  const percent = total === 0 ? 0 : Math.floor((done / total) * 100);
  return `${percent}% (${humanBytes((total * percent) / 100)} of ${humanBytes(total)})`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
