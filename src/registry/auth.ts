import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import bcrypt from 'bcryptjs';
import type { HtpasswdEntry } from './htpasswd.ts';

/** Who asks; undefined where it is not proven; 'busy' where it could not be looked at. */
export type Authenticate = (request: IncomingMessage) => Promise<string | undefined | 'busy'>;

export interface AuthOptions {
  /** The lines in force. Several may have one name: both generations are valid while passwords change. */
  readonly users: () => readonly HtpasswdEntry[];
  /**
   * Reads the lines anew, before a password is refused: who made the new one known may have been quicker than the
   * look at the file, and a pull must not fail for that.
   */
  readonly refresh?: () => Promise<void>;
  /** Whether a certificate that the server's authorities signed is proof enough. */
  readonly clientCertificates: boolean;
  readonly now?: () => number;
}

/** Milliseconds for which a password that was right is not checked again. */
const rememberMs = 5 * 60_000;
const rememberedMax = 1_000;
/** Passwords in the queue; one check takes about 70 ms of the one thread that also sends blobs. */
const queueMax = 16;

/**
 * Proof is a client certificate or a password. A password that was right is remembered under a keyed hash, which
 * says nothing without this process; bound to its line, so that a line that is removed is refused at once.
 */
export function createAuthenticator(options: AuthOptions): Authenticate {
  const now = options.now ?? Date.now;
  const secret = randomBytes(32);
  // The hash of a text that nobody knows, for names that do not exist.
  const nobody = bcrypt.hashSync(randomBytes(16).toString('hex'), 10);
  const remembered = new Map<string, number>();
  let queue: Promise<unknown> = Promise.resolve();
  let queued = 0;

  const linesFor = (user: string) => options.users().filter((line) => line.user === user);

  async function check(user: string, password: string): Promise<boolean | 'busy'> {
    const lines = linesFor(user);
    const right = await compare(lines, user, password);
    if (right !== false || options.refresh === undefined) return right;
    await options.refresh();
    const added = linesFor(user).filter(({ hash }) => !lines.some((line) => line.hash === hash));
    return added.length === 0 ? false : await compare(added, user, password);
  }

  async function compare(
    lines: readonly HtpasswdEntry[],
    user: string,
    password: string,
  ): Promise<boolean | 'busy'> {
    const keys = lines.map((line) => keyOf(secret, user, password, line.hash));
    if (keys.some((key) => (remembered.get(key) ?? 0) > now())) return true;
    if (queued >= queueMax) return 'busy';
    queued += 1;
    const turn = queue.then(async () => {
      // A name that is unknown costs as much time as one that is not.
      const hashes = lines.length === 0 ? [nobody] : lines.map((line) => line.hash);
      for (const [index, hash] of hashes.entries()) {
        if (!(await bcrypt.compare(password, hash)) || lines.length === 0) continue;
        if (remembered.size >= rememberedMax) remembered.clear();
        remembered.set(keys[index] ?? '', now() + rememberMs);
        return true;
      }
      return false;
    });
    queue = turn.catch(() => {});
    try {
      return await turn;
    } finally {
      queued -= 1;
    }
  }

  return async (request) => {
    if (options.clientCertificates) {
      const name = certificateName(request);
      if (name !== undefined) return name;
    }
    const credentials = basicCredentials(request.headers.authorization);
    if (credentials === undefined) return undefined;
    const right = await check(credentials.user, credentials.password);
    if (right === 'busy') return 'busy';
    return right ? credentials.user : undefined;
  };
}

/** The subject of a client's verified certificate, which must be at hand: a resumed session need not carry one. */
function certificateName(request: IncomingMessage): string | undefined {
  const socket = request.socket as Partial<TLSSocket>;
  if (socket.authorized !== true) return undefined;
  return socket.getPeerX509Certificate?.()?.subject;
}

function basicCredentials(header: string | undefined): { user: string; password: string } | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/=]{1,1024})$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

function keyOf(secret: Buffer, user: string, password: string, hash: string): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify([user, password, hash]))
    .digest('hex');
}
