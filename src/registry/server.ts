import { readFile } from 'node:fs/promises';
import { messageOf, systemCode } from '../errors/error.ts';
import { serve, type TlsMaterial } from '../http/server.ts';
import { systemClock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { openStore } from '../store/store.ts';
import { loadTrustedKeys } from '../trust/keys.ts';
import { createAuthenticator } from './auth.ts';
import { createRegistryHandler } from './handler.ts';
import { type HtpasswdEntry, parseHtpasswd } from './htpasswd.ts';
import { observeRegistry } from './metrics.ts';
import { openServedTree, type PeerIdentity } from './open-tree.ts';
import { createPush } from './push.ts';
import { storeTree } from './store-tree.ts';
import { readTls, type TlsFiles, tlsFiles } from './tls-files.ts';
import { readTreeFile } from './tree-file.ts';
import { createTreeSet } from './tree-set.ts';
import { watchFiles } from './watch.ts';

export interface RegistryServerOptions {
  /** The store that is served where no file of trees is given, or it is not there yet. */
  readonly storePath: string;
  readonly treesFile?: string;
  readonly address: string;
  readonly port: number;
  /** See `ServeOptions`. */
  readonly reusePort?: boolean;
  /** Absent: plain HTTP, which only loopback may be offered. */
  readonly tls?: TlsFiles;
  /** Absent, and no client authority either: everybody may read. */
  readonly htpasswdFile?: string;
  readonly peer: PeerIdentity;
  /** Takes pushes and deletions into `storePath`, which is then the one tree that is served. Never on nodes. */
  readonly writable?: boolean;
  /** A directory of `*.pub`. */
  readonly trustedKeys: string;
  /** Whom it tells what it answers; absent: nobody. */
  readonly metrics?: Metrics;
  readonly logger: Logger;
  /** Milliseconds without a byte after which a push is given up, default 60 000. */
  readonly stallMs?: number;
  /** Milliseconds between looks at the files, default 2000. */
  readonly pollMs?: number;
}

export interface RegistryServer {
  readonly address: string;
  readonly port: number;
  /** Why it should not be relied on yet. */
  problem(): string | undefined;
  close(graceMs?: number): Promise<void>;
}

const retryEveryMs = 1_000;

/**
 * Serves a node's registry. Every file is read again when it changes: trees, passwords, certificates, keys; one
 * that cannot be used leaves what was in force before. Standing connections are not disturbed by any of it.
 *
 * Errors at the start: InputInvalid (certificates), Conflict (the address is taken).
 */
export async function serveRegistry(options: RegistryServerOptions): Promise<RegistryServer> {
  const { logger } = options;
  const stop = new AbortController();
  const watching = {
    signal: stop.signal,
    ...(options.pollMs === undefined ? {} : { pollMs: options.pollMs }),
  };
  const loadKeys = () =>
    loadTrustedKeys(options.trustedKeys, (name, error) =>
      logger.error({ key: name, error: error.message }, 'a trusted key cannot be read'),
    );
  const trees = createTreeSet({
    read: async () => {
      const listed = options.treesFile === undefined ? undefined : await readTreeFile(options.treesFile);
      return listed ?? [{ kind: 'store', path: options.storePath }];
    },
    open: async (entry) =>
      entry.kind === 'store' && options.writable === true
        ? storeTree(entry.path, { changes: true })
        : await openServedTree(entry, { keys: loadKeys, peer: options.peer, logger }),
    logger,
    clock: systemClock,
  });
  const passwords = await watchedUsers(options.htpasswdFile, logger, watching);
  const isOpen = options.htpasswdFile === undefined && options.tls?.clientCaFile === undefined;
  const authenticate = createAuthenticator({
    ...passwords,
    clientCertificates: options.tls?.clientCaFile !== undefined,
  });
  const material = options.tls === undefined ? undefined : await readTls(options.tls);
  const handler = createRegistryHandler({
    trees: trees.current,
    authenticate: isOpen ? async () => 'anybody' : authenticate,
    logger,
    ...(options.writable === true
      ? { push: createPush(await openStore(options.storePath), { stallMs: options.stallMs }) }
      : {}),
  });
  const server = await serve({
    address: options.address,
    port: options.port,
    ...(options.reusePort === undefined ? {} : { reusePort: options.reusePort }),
    handler: options.metrics === undefined ? handler : observeRegistry(options.metrics, trees, handler),
    ...(material === undefined ? {} : { tls: material }),
    ...(options.writable === true ? { requestTimeoutMs: 0 } : {}), // A push has a limit on silence of its own.
    logger,
  }).catch((error: unknown) => {
    stop.abort(); // Watched files would keep the process that cannot serve.
    throw error;
  });
  if (options.tls !== undefined) {
    const { tls } = options;
    watchFiles(tlsFiles(tls), () => reloadTls(tls, server.reload, logger), watching);
  }
  if (options.treesFile !== undefined) {
    watchFiles([options.treesFile], () => void trees.reload(), watching);
  }
  watchFiles([options.trustedKeys], () => void trees.reload((entry) => entry.kind !== 'store'), watching);
  const peerFiles = [options.peer.certFile, options.peer.keyFile, options.peer.caFile];
  watchFiles(
    peerFiles.filter((path) => path !== undefined),
    () => void trees.reload((entry) => entry.kind === 'peer'),
    watching,
  );
  const retrying = setInterval(() => void trees.retry(), retryEveryMs);
  // The store answers from the first request on; slow media follow when they are verified.
  void trees.reload();
  return {
    address: server.address,
    port: server.port,
    problem: () => (trees.current().length === 0 ? 'no tree is served yet' : undefined),
    async close(graceMs) {
      stop.abort();
      clearInterval(retrying);
      await server.close(graceMs);
      await trees.close();
    },
  };
}

async function watchedUsers(
  path: string | undefined,
  logger: Logger,
  watching: { signal: AbortSignal; pollMs?: number },
): Promise<{ readonly users: () => readonly HtpasswdEntry[]; readonly refresh: () => Promise<void> }> {
  let users: readonly HtpasswdEntry[] = [];
  if (path === undefined) return { users: () => users, refresh: async () => {} };
  let standing: string | undefined;
  const read = async () => {
    try {
      const text = await readFile(path, 'utf8');
      if (text === standing) return; // Whoever guesses passwords writes no logs.
      standing = text;
      users = parseHtpasswd(text, (line) =>
        logger.warn({ path, line }, 'a line of the password file is not bcrypt and is left out'),
      );
    } catch (error) {
      // No file means no passwords yet; one that cannot be read changes nothing.
      if (systemCode(error) !== 'ENOENT') {
        logger.error({ path, error: messageOf(error) }, 'the password file cannot be read');
        return;
      }
      standing = undefined;
      users = [];
    }
  };
  // One after another: what was read first must not be taken last.
  let reading = read();
  const refresh = () => {
    reading = reading.then(read);
    return reading;
  };
  await reading;
  watchFiles([path], () => void refresh(), watching);
  return { users: () => users, refresh };
}

async function reloadTls(
  tls: TlsFiles,
  apply: (material: TlsMaterial) => void,
  logger: Logger,
): Promise<void> {
  try {
    apply(await readTls(tls));
    logger.info({ certificate: tls.certFile }, 'a new certificate is in use');
  } catch (error) {
    logger.error({ error: messageOf(error) }, 'the new certificate cannot be used: the old one stays');
  }
}
