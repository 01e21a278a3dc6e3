import type { Platform } from '../api/kinds.ts';
import { SluiceError } from '../errors/error.ts';
import { createKubeClient, type KubeClient } from '../kube/client.ts';
import type { KubeconfigIdentity } from '../kube/kubeconfig.ts';
import { createTransport, type Transport, type TransportOptions } from '../kube/transport.ts';
import type { Session } from './session.ts';

/** One person's way to the cluster API: every request of a session goes out under its own identity. */
export interface ClusterAccess {
  readonly transport: Transport;
  readonly client: KubeClient;
}

export interface Identities {
  /** Errors: Unauthorized where the session is by link and this console gives none. */
  of(session: Pick<Session, 'by' | 'token'>): ClusterAccess;
  close(): Promise<void>;
}

/** Tokens whose connections are kept; the one that was used longest ago is closed first. */
const heldMax = 200;

/**
 * @param own the console's identity; a session by link has its rights. A token is sent in its place, never beside it:
 *   an API server believes a client certificate before a token.
 */
export function createIdentities(
  own: KubeconfigIdentity,
  cluster: { readonly platform: Platform; readonly machineConfigOperatorServes: boolean },
  options: { readonly links: boolean; readonly userAgent: string },
): Identities {
  const held = new Map<string, ClusterAccess>();
  const open = (from: TransportOptions): ClusterAccess => ({
    transport: createTransport(from),
    client: createKubeClient({ ...from, ...cluster }),
  });
  const { ca, servername } = own.tls;
  const tls = {
    ...(ca === undefined ? {} : { ca }),
    ...(servername === undefined ? {} : { servername }),
  };
  return {
    of(session) {
      if (session.by === 'link' && !options.links) {
        throw new SluiceError('Unauthorized', 'this console takes tokens only', { next: 'Log in with one.' });
      }
      const key = session.by === 'link' ? '' : (session.token ?? '');
      const known = held.get(key);
      const access =
        known ??
        open(
          session.by === 'link'
            ? { ...own, userAgent: options.userAgent }
            : { server: own.server, tls, token: key, userAgent: options.userAgent },
        );
      held.delete(key); // And in again, so that the first is always the one that rests longest.
      held.set(key, access);
      const [oldest] = held;
      if (held.size > heldMax && oldest !== undefined) {
        held.delete(oldest[0]);
        void close(oldest[1]);
      }
      return access;
    },
    async close() {
      await Promise.all([...held.values()].map(close));
      held.clear();
    },
  };
}

async function close({ transport, client }: ClusterAccess): Promise<void> {
  await Promise.all([transport.close(), client.close()]);
}
