import type { NodeUpdate, NodeUpdateSpecWindow } from './resources.ts';

/** `used`: by the one reboot that it was for. `closed`: none was opened, or it was closed on the node itself. */
export type WindowState = 'open' | 'ended' | 'used' | 'closed';

/** How the window that was opened for a node stands there. @param now Unix milliseconds. */
export function windowState({ spec, status }: Pick<NodeUpdate, 'spec' | 'status'>, now: number): WindowState {
  const window = spec?.window;
  if (window === undefined) return 'closed';
  // The node keeps whole seconds.
  const second = (time: string) => Math.floor(Date.parse(time) / 1000);
  if (status?.closedWindow !== undefined && second(status.closedWindow) === second(window.notAfter)) {
    return window.once === true ? 'used' : 'closed';
  }
  return Date.parse(window.notAfter) > now ? 'open' : 'ended';
}

/** The window of a node while it is open. */
export function openWindowOf(
  update: Pick<NodeUpdate, 'spec' | 'status'>,
  now: number,
): NodeUpdateSpecWindow | undefined {
  return windowState(update, now) === 'open' ? update.spec.window : undefined;
}
