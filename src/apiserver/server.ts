import { mkdirSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type Claim, claimFile } from '../durable/claim.ts';
import { SluiceError } from '../errors/error.ts';
import { hostPort } from '../http/client.ts';
import { serve } from '../http/server.ts';
import { type Clock, systemClock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { createAccess, createTokens, tokenIssuer } from './access.ts';
import { createPolicies } from './admission-source.ts';
import { ensureBootstrap } from './bootstrap.ts';
import { Definitions } from './definitions.ts';
import { withoutEscalation } from './escalation.ts';
import { createGatekeeper } from './gatekeeper.ts';
import { createHandler } from './http/handler.ts';
import { createKubeletClient } from './http/log.ts';
import type { Tools } from './http/tools.ts';
import { observeApiServer } from './metrics.ts';
import { withinNode } from './node-restriction.ts';
import type { KubeObject } from './object.ts';
import { withPodSecurity } from './pod-security/admission.ts';
import type { Admission } from './policy/admission.ts';
import { Resources } from './resources.ts';
import type { Engine } from './rest/engine.ts';
import { RevisionStore } from './store/revisions.ts';
import { WatchHub } from './store/watch-hub.ts';

/** Milliseconds between the bookmarks of quiet watches. */
const bookmarkIntervalMs = 30_000;
/** Milliseconds between compactions; what is older than two of them can no longer be listed or watched from. */
const historyMsDefault = 5 * 60_000;

/** Milliseconds that an answer has to reach a client when the server stops. */
const endingMs = 500;

/** Milliseconds in which a server that was there before can end. */
const claimMs = 5_000;

/** An object as a file or another room gives it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
}

export interface ApiServerOptions {
  /** Where the database lies. */
  readonly dataDir: string;
  readonly address: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** The server's own certificate and key, PEM. */
  readonly tls: { readonly cert: string; readonly key: string };
  /** PEM of the authority whose client certificates name users and groups. */
  readonly clientCaPem: string;
  /** PKCS#8 PEM (P-256) that signs ServiceAccount tokens; without it no token is given or accepted. */
  readonly serviceAccountKeyPem?: string;
  /** A bearer token with all rights, for controllers in the same process. */
  readonly loopbackToken?: string;
  /** How the server shows itself to kubelets, for logs. */
  readonly kubeletClient?: { readonly cert: string; readonly key: string; readonly ca: string };
  /** CustomResourceDefinitions that are to be there; one that is older is replaced. */
  readonly crds?: readonly Manifest[];
  /** Objects that are created where they are missing, in this order. */
  readonly bootstrap?: readonly Manifest[];
  /** Whom it tells what it answers, and what `/metrics` shows to those who may read it; absent: nobody. */
  readonly metrics?: Metrics;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Milliseconds of history that are kept at the least, from which lists and watches can go on. Default 5 minutes. */
  readonly historyMs?: number;
}

export interface RunningApiServer {
  /** `https://address:port` */
  readonly url: string;
  readonly port: number;
  /** Ends watches and connections and closes the database. */
  close(): Promise<void>;
}

/**
 * Starts the embedded Kubernetes API. Returns when it serves, its namespaces, definitions and bootstrap objects
 * being there. Errors: InputInvalid (the database cannot be read), Conflict (the address is taken), DiskFull.
 */
export async function startApiServer(options: ApiServerOptions): Promise<RunningApiServer> {
  const claim = await claimDatabase(options.dataDir);
  let store: RevisionStore | undefined;
  try {
    store = new RevisionStore(join(options.dataDir, 'cluster.db'));
    return await serveStore(options, store, claim);
  } catch (error) {
    store?.close();
    claim.release();
    throw error;
  }
}

async function serveStore(
  options: ApiServerOptions,
  store: RevisionStore,
  claim: Claim,
): Promise<RunningApiServer> {
  const watches = new WatchHub(store);
  const resources = new Resources();
  const { logger } = options;
  let policies: Admission | undefined;
  const engine: Engine = {
    store,
    watches,
    resources,
    gatekeeper: createGatekeeper(() => policies),
    clock: options.clock ?? systemClock,
    logger,
  };
  const definitions = new Definitions(engine);
  await definitions.start();
  await ensureBootstrap(engine, objects(options.crds), objects(options.bootstrap));
  await definitions.settled();
  const authorizer = createAccess(engine);
  // From here on: what the server itself makes sure of comes before any policy.
  const judged = withPodSecurity(engine, createPolicies(engine, authorizer));
  policies = withinNode(engine, withoutEscalation(engine, authorizer, judged));
  const open = new Set<ServerResponse>();
  const kubelets = createKubeletClient(options.kubeletClient);
  const keyPem = options.serviceAccountKeyPem;
  const tools: Tools = {
    authorizer,
    tokens: keyPem === undefined ? undefined : await createTokens(engine, keyPem),
    audiences: [tokenIssuer],
    loopbackToken: options.loopbackToken,
    kubelets,
    metrics: options.metrics,
  };
  const answer = createHandler({ engine, tools });
  const { metrics } = options;
  const file = join(options.dataDir, 'cluster.db');
  const handler = metrics === undefined ? answer : observeApiServer(metrics, store, file, answer);
  const server = await serve({
    address: options.address,
    port: options.port,
    tls: { ...options.tls, clientCa: options.clientCaPem },
    handler: (request: IncomingMessage, response: ServerResponse) => {
      open.add(response);
      response.on('close', () => open.delete(response));
      return handler(request, response);
    },
  });
  const stopHousekeeping = keepHouse(engine, store, watches, options.historyMs ?? historyMsDefault);
  return {
    url: `https://${hostPort(server.address, server.port)}`,
    port: server.port,
    async close() {
      stopHousekeeping();
      // Watches last for ever; what they wait for will not come any more.
      await Promise.all([...open].map(ended));
      await server.close();
      await definitions.settled();
      await kubelets.close();
      watches.close();
      store.close();
      claim.release();
    },
  };
}

/** Two servers of one database would take each other's revisions. @throws SluiceError Conflict */
async function claimDatabase(dataDir: string): Promise<Claim> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const claim = await claimFile(join(dataDir, 'claim'), claimMs);
  if (claim !== undefined) return claim;
  throw new SluiceError('Conflict', `another API server works with the database in ${dataDir}`, {
    next: 'End it, or choose another directory.',
  });
}

/** Ends an answer that is under way; one that cannot be written is not waited for. */
function ended(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    response.once('close', resolve);
    response.end(resolve);
    setTimeout(resolve, endingMs).unref();
  });
}

function objects(manifests: readonly Manifest[] = []): KubeObject[] {
  return manifests.map((manifest) => structuredClone(manifest) as KubeObject);
}

function keepHouse(engine: Engine, store: RevisionStore, watches: WatchHub, historyMs: number): () => void {
  let before = store.revision;
  let step: NodeJS.Immediate | undefined;
  const compact = () => {
    if (store.compact(before)) step = setImmediate(compact);
    else before = store.revision;
  };
  const bookmarks = setInterval(() => watches.bookmarkAll(), bookmarkIntervalMs);
  const compaction = setInterval(() => {
    try {
      compact();
    } catch (error) {
      engine.logger.error({ error: String(error) }, 'the history could not be compacted');
    }
  }, historyMs);
  return () => {
    clearInterval(bookmarks);
    clearInterval(compaction);
    if (step !== undefined) clearImmediate(step);
  };
}
