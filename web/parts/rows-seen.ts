/** Which rows of a long list are drawn, and what stands for the others. */
export interface RowsSeen {
  /** Rows to draw: from `first` to before `end`. */
  readonly first: number;
  readonly end: number;
  /** Pixels that stand for the rows before and after them. */
  readonly before: number;
  readonly after: number;
}

/** Rows that are drawn beyond what can be seen, so that scrolling by keyboard finds the next one. */
const margin = 8;

/** Which rows a frame shows that is scrolled by `top` pixels and `height` pixels high. Pure. */
export function rowsSeen(
  count: number,
  rowHeight: number,
  { top, height }: { readonly top: number; readonly height: number },
): RowsSeen {
  const last = Math.max(0, count - Math.ceil(height / rowHeight));
  const first = Math.max(0, Math.min(Math.floor(top / rowHeight), last) - margin);
  const end = Math.min(count, Math.ceil((top + height) / rowHeight) + margin);
  return {
    first,
    end: Math.max(first, end),
    before: first * rowHeight,
    after: (count - Math.max(first, end)) * rowHeight,
  };
}
