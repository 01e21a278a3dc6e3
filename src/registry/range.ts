/** What a Range header asks of a body of `size` bytes. */
export type RangeAnswer =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly offset: number; readonly end: number }
  | { readonly kind: 'unsatisfiable' };

/**
 * RFC 9110 §14: one range of bytes is answered; several, other units, and what cannot be read are passed over,
 * which the standard allows (§14.2).
 *
 * @param ifRange the If-Range header; a tag other than `etag` asks for the whole (§13.1.5).
 */
export function readRange(
  header: string | undefined,
  ifRange: string | undefined,
  etag: string,
  size: number,
): RangeAnswer {
  if (header === undefined || (ifRange !== undefined && ifRange !== etag)) return { kind: 'whole' };
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header.trim()) ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return { kind: 'whole' };
  if (first === '') {
    const suffix = Number(last);
    if (suffix === 0 || size === 0) return { kind: 'unsatisfiable' };
    return { kind: 'part', offset: Math.max(0, size - suffix), end: size };
  }
  const offset = Number(first);
  const end = last === '' ? size : Math.min(size, Number(last) + 1);
  if (last !== '' && Number(last) < offset) return { kind: 'whole' };
  return offset >= size ? { kind: 'unsatisfiable' } : { kind: 'part', offset, end };
}

/**
 * The Content-Range of an upload: `first-last`, both inclusive, without unit or total (distribution-spec, end-5;
 * clients that write `bytes first-last/total` as RFC 9110 has it are understood too). Undefined where there is none.
 */
export function readContentRange(
  header: string | undefined,
): { readonly offset: number; readonly end: number } | 'invalid' | undefined {
  if (header === undefined) return undefined;
  const [, first, last] =
    /^(?:bytes[ =])?(\d{1,15})-(\d{1,15})(?:\/(?:\d{1,15}|\*))?$/.exec(header.trim()) ?? [];
  if (first === undefined || Number(last) < Number(first)) return 'invalid';
  return { offset: Number(first), end: Number(last) + 1 };
}
