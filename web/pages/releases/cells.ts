import type { NodeUpdate } from '../../../src/api/resources.ts';

/** How one release stands on one node, from what the node's agent says. */
export type Cell =
  | { readonly kind: 'held'; readonly bytes: number; readonly verifiedAt: string | undefined }
  | {
      readonly kind: 'copying';
      readonly done: number;
      readonly total: number;
      /** Bytes a second; undefined until it is known. */
      readonly rate: number | undefined;
      readonly secondsLeft: number | undefined;
    }
  | { readonly kind: 'verifying' }
  | {
      readonly kind: 'stopped';
      readonly paused: boolean;
      readonly done: number;
      readonly total: number;
      readonly message: string;
    }
  | { readonly kind: 'asked' }
  | { readonly kind: 'mounted' }
  | { readonly kind: 'absent' };

/** @param asked whether the release should be on every node. */
export function cellOf(release: string, update: NodeUpdate | undefined, asked: boolean): Cell {
  const status = update?.status;
  const held = status?.store?.find(({ name }) => name === release);
  if (held !== undefined) return { kind: 'held', bytes: held.bytes ?? 0, verifiedAt: held.verifiedAt };
  const copy = status?.copies?.find((each) => each.release === release);
  if (copy !== undefined) {
    const { bytesDone: done = 0, bytesTotal: total = 0, rate, secondsLeft, message = '', reason = '' } = copy;
    switch (copy.state) {
      case 'Paused':
      case 'Failed':
        return { kind: 'stopped', paused: copy.state === 'Paused', done, total, message: message || reason };
      case 'Verifying':
        return { kind: 'verifying' };
      default:
        return { kind: 'copying', done, total, rate, secondsLeft };
    }
  }
  if (asked) return { kind: 'asked' };
  const mounted = status?.media?.some(({ name, verified }) => name === release && verified === true);
  return { kind: mounted === true ? 'mounted' : 'absent' };
}

/** Whole percents, which reach 100 only when all is done. */
export function percentOf(done: number, total: number): number {
  return total <= 0 ? 0 : Math.min(100, Math.floor((done / total) * 100));
}
