import { type RefObject, useEffect, useRef, useState } from 'react';
import { type RowsSeen, rowsSeen } from './rows-seen.ts';

export interface VirtualRows extends RowsSeen {
  /** Goes on the element that scrolls. */
  readonly frame: RefObject<HTMLDivElement | null>;
}

/** The rows of a long list that can be seen; all have the same height, in pixels. */
export function useVirtualRows(count: number, rowHeight: number): VirtualRows {
  const frame = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const look = () => setSeen({ top: element.scrollTop, height: element.clientHeight });
    look();
    element.addEventListener('scroll', look, { passive: true });
    const resize = new ResizeObserver(look);
    resize.observe(element);
    return () => {
      element.removeEventListener('scroll', look);
      resize.disconnect();
    };
  }, []);
  return { frame, ...rowsSeen(count, rowHeight, seen) };
}
