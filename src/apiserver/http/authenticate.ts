import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { UserInfo } from '../policy/rbac.ts';
import { unauthorized } from '../status.ts';
import type { Tools } from './tools.ts';

export const anonymous: UserInfo = { username: 'system:anonymous', groups: ['system:unauthenticated'] };

const loopback: UserInfo = {
  username: 'system:apiserver',
  groups: ['system:masters', 'system:authenticated'],
};

const authenticatedGroup = 'system:authenticated';

/** The identity of a connection never changes, so its certificate is read once. */
const certificateUsers = new WeakMap<TLSSocket, UserInfo | null>();

/**
 * Who asks: by a client certificate of the cluster's authority (CN is the user, O the groups), by a bearer token
 * of a ServiceAccount, or nobody in particular.
 * @throws 401 where credentials are given and not good
 */
export async function authenticate(
  request: IncomingMessage,
  { tokens, loopbackToken }: Pick<Tools, 'loopbackToken' | 'tokens'>,
): Promise<UserInfo> {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const token = /^Bearer +(\S+)\s*$/i.exec(authorization)?.[1];
    if (token !== undefined && loopbackToken !== undefined && sameText(token, loopbackToken)) return loopback;
    const found = token === undefined ? undefined : await tokens?.verify(token);
    if (found === undefined) throw unauthorized();
    return withAuthenticated(found.user);
  }
  return certificateUser(request.socket as TLSSocket) ?? anonymous;
}

function certificateUser(socket: TLSSocket): UserInfo | undefined {
  let user = certificateUsers.get(socket);
  if (user === undefined) {
    user = readCertificate(socket) ?? null;
    certificateUsers.set(socket, user);
  }
  return user ?? undefined;
}

function readCertificate(socket: TLSSocket): UserInfo | undefined {
  if (socket.authorized !== true) return undefined;
  const certificate = socket.getPeerCertificate();
  const subject = certificate.subject as { CN?: string; O?: string | string[] } | undefined;
  if (!subject?.CN) return undefined;
  const groups = subject.O === undefined ? [] : [subject.O].flat();
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
  return withAuthenticated({
    username: subject.CN,
    groups,
    extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] },
  });
}

function withAuthenticated(user: UserInfo): UserInfo {
  const groups = [...new Set([...user.groups, authenticatedGroup])];
  return { ...user, groups };
}

/** Compares in a time that says nothing about where they differ. */
function sameText(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
