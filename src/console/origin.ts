import type { IncomingHttpHeaders } from 'node:http';
import { SluiceError } from '../errors/error.ts';
import type { Session, SessionSealer } from './session.ts';

/**
 * Refuses a request that another site made a browser send. Browsers tell where a request comes from
 * (Fetch Metadata, Sec-Fetch-Site), which no page can forge; older ones send Origin. Errors: Forbidden.
 */
export function requireSameOrigin(headers: IncomingHttpHeaders): void {
  const site = headers['sec-fetch-site'];
  if (site === 'same-origin') return;
  if (site === undefined && (headers.origin === undefined || isOwn(headers.origin, headers.host))) return;
  throw new SluiceError('Forbidden', 'the request comes from another site');
}

function isOwn(origin: string, host: string | undefined): boolean {
  try {
    return new URL(origin).host === host;
  } catch {
    return false;
  }
}

/** Refuses what carries the cookie alone: a page of ours also sends the token that it was given. Errors: Forbidden. */
export function requireCsrf(headers: IncomingHttpHeaders, sealer: SessionSealer, session: Session): void {
  const given = headers['x-csrf-token'];
  if (typeof given === 'string' && sealer.isCsrfToken(session, given)) return;
  throw new SluiceError('Forbidden', 'the request lacks the token of this session', {
    next: 'Load the page again.',
  });
}
