import { isSluiceError, SluiceError } from '../errors/error.ts';
import { askNode } from '../node/socket.ts';

/** Where the console's socket gives links: `{url, link}`; no link where it takes tokens only. */
export const linkRoute = 'POST /v1/link';

/** A new one-time link of the console that listens on this socket. Errors: Unreachable, Forbidden. */
export async function askForLink(socket: string): Promise<{ readonly url: string; readonly link: string }> {
  const { url, link } = await askNode(socket, linkRoute).catch((error: unknown) => {
    if (!isSluiceError(error, 'Unreachable')) throw error;
    throw new SluiceError('Unreachable', `no console listens on ${socket}`, {
      cause: error,
      next: 'Start it (sluice console), or say where it listens: --socket FILE.',
    });
  });
  if (typeof link === 'string') return { url: String(url), link };
  throw new SluiceError('Forbidden', `the console at ${String(url)} gives no links`, {
    next: 'Log in with a token: kubectl create token NAME.',
  });
}
