import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { SluiceError } from '../errors/error.ts';

/** Who is logged in. The cookie holds all of it, sealed: a restart of the console logs nobody out. */
export interface Session {
  /** Tells it from every other; the CSRF token is bound to it. */
  readonly id: string;
  /** Logged in by a token of their own, or by the console's one-time link, which gives the console's own rights. */
  readonly by: 'token' | 'link';
  readonly token?: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

export interface SessionSealer {
  /** Name of the cookie: browsers do not tell cookies of two ports of one host apart. */
  readonly cookieName: string;
  seal(session: Session): string;
  /** Undefined for what was not sealed here, or has expired. */
  open(sealed: string, now: number): Session | undefined;
  /** What a request that changes something must carry beside the cookie. */
  csrfToken(session: Session): string;
  isCsrfToken(session: Session, given: string): boolean;
}

export const sessionKeyBytes = 32;
export const sessionMs = 12 * 3_600_000;
const ivBytes = 12;
const tagBytes = 16;
/** A cookie has room for 4096 bytes (RFC 6265, section 6.1); sealed and in base64 this fits. */
const tokenBytesMax = 2_800;

/** A new session. Errors: InputTooLarge for a token that no cookie can hold. */
export function newSession(by: Session['by'], token: string | undefined, now: number): Session {
  if (token !== undefined && Buffer.byteLength(token) > tokenBytesMax) {
    throw new SluiceError('InputTooLarge', `the token is longer than ${tokenBytesMax} bytes`, {
      next: 'Use a token of a ServiceAccount: kubectl create token NAME.',
    });
  }
  const id = randomBytes(16).toString('base64url');
  return { id, by, expiresAt: now + sessionMs, ...(token === undefined ? {} : { token }) };
}

/** Seals sessions with AES-256-GCM under one key. */
export function createSealer(key: Buffer): SessionSealer {
  const macOf = (what: string) => createHmac('sha256', key).update(what).digest();
  const cookieName = `sluice-${macOf('cookie').toString('hex').slice(0, 8)}`;
  const csrfOf = (session: Session) => macOf(`csrf ${session.id}`);
  return {
    cookieName,
    seal(session) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', key, iv);
      const sealed = Buffer.concat([cipher.update(JSON.stringify(session), 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
    },
    open(text, now) {
      try {
        const bytes = Buffer.from(text, 'base64url');
        const cipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes));
        cipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
        const plain = Buffer.concat([cipher.update(bytes.subarray(ivBytes + tagBytes)), cipher.final()]);
        const session = JSON.parse(plain.toString('utf8')) as Session;
        return session.expiresAt > now ? session : undefined;
      } catch {
        return undefined; // Forged, cut, or sealed under another key: all the same.
      }
    },
    csrfToken: (session) => csrfOf(session).toString('base64url'),
    isCsrfToken(session, given) {
      const bytes = Buffer.from(given, 'base64url');
      const wanted = csrfOf(session);
      return bytes.length === wanted.length && timingSafeEqual(bytes, wanted);
    },
  };
}

/** The value of a cookie of a request; undefined where it has none of that name. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const part of (header ?? '').split(';')) {
    const at = part.indexOf('=');
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}
