import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { names } from '../api/names.ts';
import type { ClosureItem } from '../bundle/closure.ts';
import { createPace } from '../copy/pace.ts';
import { messageOf, SluiceError } from '../errors/error.ts';
import { createHttpClient, hostPort } from '../http/client.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Digest } from '../oci/digest.ts';
import { trustedKeys } from '../release/trusted-keys.ts';
import { openStore } from '../store/store.ts';
import { type Attachment, openAttachments } from './attachments.ts';
import { createBell } from './bell.ts';
import { createClusterView } from './cluster-view.ts';
import { readRemovalFacts } from './cluster-words.ts';
import { contentRoutes } from './content-routes.ts';
import { type Choose, createCopier } from './copier.ts';
import { chooseSource } from './copy-source.ts';
import { createDeltaCheck } from './deltas.ts';
import { createContentMetrics } from './metrics.ts';
import { createPublisher } from './publisher.ts';
import { createRegistrySide } from './registry-side.ts';
import { dropGivenUp, removeReleases } from './removal.ts';
import { createScrubber } from './scrub.ts';
import type { NodeRoutes } from './socket.ts';
import { createSources } from './sources.ts';
import { type ContentState, nodeUpdateStatus } from './status.ts';
import { readStoreView } from './store-view.ts';
import { treeEntries } from './trees.ts';

/** The node's certificate of the cluster's authority. */
export interface NodeIdentity {
  readonly caPem: string;
  readonly certPem: string;
  readonly keyPem: string;
}

export interface ContentManagerOptions {
  readonly client: KubeClient;
  readonly nodeName: string;
  /** Where this node's registry listens. */
  readonly address: string;
  readonly dirs: {
    /** Holds `docker/registry/v2`. */
    readonly store: string;
    /** `trees.json` and `htpasswd` for the registry. */
    readonly run: string;
    /** What must survive a restart. */
    readonly state: string;
  };
  /** The node's certificate of the cluster's authority: it reads from peers' registries with it. */
  readonly identity: NodeIdentity;
  /** Directory of `*.pub` beside the ConfigMap. */
  readonly trustedKeysDir?: string | undefined;
  /** Whom it tells how it goes; absent: nobody. */
  readonly metrics?: Metrics | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly registryPort?: number | undefined;
  readonly stallMs?: number | undefined;
  readonly concurrency?: number | undefined;
  /** Whether the node asks its own registry how it is; off where none runs (tests). */
  readonly watchRegistry?: boolean | undefined;
}

export interface ContentManager {
  /** Runs until `signal` aborts. Never rejects. */
  run(): Promise<void>;
  attach(path: string): Promise<Attachment>;
  detach(what: string): Promise<Attachment>;
  /** Certificates were renewed: peers are asked with these from now on. */
  renew(identity: NodeIdentity): void;
  /** What the node says of its content now. */
  status(): ReturnType<typeof nodeUpdateStatus>;
  /** Why this node's registry does not answer; undefined where it does. */
  registryDown(): string | undefined;
  /** For the node's socket. */
  readonly routes: NodeRoutes;
}

/** Media, cluster words and due retries are looked at this often when nothing wakes the manager before. */
const lookMs = 2_000;
/** A medium that hangs does not keep the node silent for longer. */
const firstLookMsMax = 30_000;
/** Status is written at most this often. */
const publishMs = 1_000;
/** Keys and the registry's password are read this often; keys also at each attach. */
const refreshMs = 10_000;
/** Whether a release may go is asked this often. */
const removalMs = 3_000;
/** Temporary files of ended processes are purged when they are this old. */
const staleMs = 24 * 3_600_000;

/**
 * Everything that one node does for content: takes media, verifies them, tells its registry what to serve,
 * copies what the cluster asks for, removes what nobody wants, and says how it stands. What the store holds by a
 * record is taken as it is at the start; nothing is read again for that.
 */
export async function createContentManager(options: ContentManagerOptions): Promise<ContentManager> {
  const { client, nodeName, dirs, logger, clock, signal } = options;
  const registryPort = options.registryPort ?? names(client.platform).registryPort;
  await mkdir(dirs.run, { recursive: true });
  const store = await openStore(dirs.store);
  const tlsOf = ({ caPem, certPem, keyPem }: NodeIdentity) => ({ ca: caPem, cert: certPem, key: keyPem });
  const http = createHttpClient(tlsOf(options.identity));

  const bell = createBell();
  const publishBell = createBell();
  const cluster = createClusterView({ client, nodeName, logger, clock, signal, onChange: bell.ring });

  let keyTexts: string | undefined;
  const keys = () =>
    trustedKeys(client, options.trustedKeysDir, (name, error) =>
      logger.warn({ key: name, error: error.message }, 'trusted key cannot be read'),
    );
  const attachments = await openAttachments({
    stateDir: dirs.state,
    keys,
    accept: acceptBundle,
    logger,
  });
  let held = await readStoreView(store);
  const deltas = createDeltaCheck(store);
  let problems: ReadonlyMap<string, { reason: string; message: string }> = new Map();

  const givenUp: { release: string; items: readonly ClosureItem[] }[] = [];
  const sources = createSources({
    nodeName,
    store,
    http,
    registryPort,
    copying: cluster.copying,
    hasMedium: cluster.hasMedium,
    clock,
  });
  const metrics =
    options.metrics === undefined
      ? undefined
      : createContentMetrics(options.metrics, {
          copies: () => copier.views(),
          attachments: attachments.list,
          store: () => held,
          space: () => store.space(),
        });
  const copier = createCopier({
    store,
    metrics,
    keys,
    contentOf: sources.contentOf,
    fanOut: sources.fanOut,
    pace: createPace({ clock }),
    logger,
    clock,
    signal,
    stallMs: options.stallMs,
    concurrency: options.concurrency,
    onProgress: publishBell.ring,
    onEnd: bell.ring,
    onGivenUp: (release, items) => {
      givenUp.push({ release, items });
      bell.ring();
    },
  });
  const scrubber = createScrubber({
    store,
    stateDir: dirs.state,
    isBusy: copier.isBusy,
    onHashed: (bytes) => metrics?.scrubbed(bytes),
    onEnd: (at) => metrics?.scrubEnded(at),
    onDamage({ digest, releases }) {
      metrics?.damaged();
      logger.error({ digest, releases }, 'damaged on the disk: moved to quarantine, to be fetched again');
      bell.ring();
    },
    clock,
    logger,
    signal,
  });
  const publisher = createPublisher(client, nodeName, registryPort, clock);
  const registry = createRegistrySide({
    client,
    http,
    host: hostPort(options.address, registryPort),
    runDir: dirs.run,
    stateDir: dirs.state,
    clock,
    signal,
    onChange: publishBell.ring,
  });

  /** The first content accepted under a name is bound to it, here and against what peers have already. */
  async function acceptBundle(name: string, digest: Digest): Promise<void> {
    const other = cluster.peers().find((peer) => peer.name === name && peer.bundleDigest !== digest);
    const own = (await store.bindings()).find((binding) => binding.name === name);
    if (own === undefined && other !== undefined) {
      throw new SluiceError(
        'Conflict',
        `${name} stands for ${other.bundleDigest} on node ${other.node}, and these media carry ${digest}`,
      );
    }
    await store.bind(name, digest);
  }

  function state(): ContentState {
    return {
      nodeName,
      desired: cluster.desired() ?? [],
      records: held.records,
      removing: held.removing,
      attachments: attachments.list(),
      copies: copier.views(),
      problems,
      missingBytes: deltas.missingBytes,
      registryDown: registry.down(),
      credentials: registry.credentials(),
    };
  }

  async function writeTrees(): Promise<void> {
    const digests = [...held.records.values()].map((record) => record.bundle.digest);
    await registry.writeTrees(
      treeEntries({
        storePath: dirs.store,
        held: new Set(digests),
        attachments: attachments.list(),
        peers: cluster.peers(),
        registryPort,
      }),
    );
  }

  function pursueCopies(): void {
    const { records, removing, unrecorded, bound } = held;
    const desired = cluster.desired() ?? [];
    const wanted = new Map<string, Choose>();
    for (const name of new Set([...desired, ...unrecorded])) {
      if (records.has(name) || removing.has(name)) continue;
      const asked = desired.includes(name);
      wanted.set(name, (failures) =>
        chooseSource({
          name,
          bound: bound.get(name),
          inStore: unrecorded.includes(name),
          attachments: asked ? attachments.list() : [],
          peers: asked ? cluster.peers() : [],
          failures,
          now: clock.now(),
        }),
      );
    }
    copier.pursue(wanted, cluster.paused());
  }

  async function removeUnwanted(): Promise<void> {
    const asked = cluster.desired();
    const unwanted = [...held.records.keys()].filter((name) => asked?.includes(name) === false);
    if (unwanted.length === 0 && held.removing.size === 0) return;
    const copying = copier.items();
    if (copying === undefined) return; // Copies begin in `look` only, and so not while this goes on.
    try {
      const results = await removeReleases({
        store,
        facts: () => readRemovalFacts(client, logger),
        copying,
        logger,
        now: clock.now(),
        onBegin: (name) => {
          held = { ...held, removing: new Set([...held.removing, name]) };
          publishBell.ring();
        },
      });
      problems = new Map();
      for (const { bytesFreed } of results) metrics?.removed(bytesFreed);
      if (results.length > 0) copier.forgive(); // Space was freed.
    } catch (error) {
      const message = messageOf(error);
      logger.error({ error: message }, 'removal failed');
      problems = new Map([...held.removing].map((name) => [name, { reason: 'RemovalFailed', message }]));
    }
    held = await readStoreView(store);
  }

  /** What had come of copies that are not wanted any more; kept where nothing says what is wanted. */
  async function dropLeftovers(): Promise<void> {
    const asked = cluster.desired();
    const copying = copier.items();
    if (copying === undefined) return;
    for (const { release, items } of givenUp.splice(0)) {
      if (asked === undefined || asked.includes(release)) continue;
      const bytes = await dropGivenUp(items, { store, copying, now: clock.now(), logger });
      logger.info({ release, bytes }, 'what had come of a copy that was given up is removed');
    }
  }

  const lookAtDeltas = () =>
    deltas.look(attachments.list(), JSON.stringify([...held.records.keys(), ...held.removing]));

  let removalAt = 0;
  let refreshAt = 0;
  async function look(): Promise<void> {
    if (await attachments.check()) copier.forgive();
    held = await readStoreView(store);
    await lookAtDeltas();
    if (clock.now() >= refreshAt) {
      refreshAt = clock.now() + refreshMs;
      await refresh();
    }
    await writeTrees();
    pursueCopies();
    await dropLeftovers();
    if (clock.now() >= removalAt) {
      removalAt = clock.now() + removalMs;
      await removeUnwanted();
    }
    publishBell.ring();
  }

  /** What is read now and then: keys that came or went, the registry's password. */
  async function refresh(): Promise<void> {
    const trusted = await keys();
    await registry.writeKeys(trusted);
    const text = JSON.stringify(trusted.map((key) => key.fingerprint));
    if (keyTexts !== undefined && text !== keyTexts) {
      await attachments.verifyAgain();
      copier.forgive();
    }
    keyTexts = text;
    if (!(await registry.writePasswords())) refreshAt = clock.now() + lookMs; // The controller makes them soon.
  }

  const looked = Promise.withResolvers<void>();
  async function lookLoop(): Promise<void> {
    while (!signal.aborted) {
      try {
        await look();
      } catch (error) {
        if (!signal.aborted) logger.warn({ error: messageOf(error) }, 'content is looked at again soon');
      }
      looked.resolve();
      await bell.wait(lookMs);
    }
    looked.resolve();
  }

  let publishing: Promise<void> = Promise.resolve();
  /** One write at a time; a failed one is logged and made good by the next. */
  function publish(): Promise<void> {
    publishing = publishing
      .then(() => publisher.publish(state()))
      .catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ error: messageOf(error) }, 'status cannot be written yet');
      });
    return publishing;
  }

  async function publishLoop(): Promise<void> {
    // What was attached before a restart is not lost because nobody has looked yet: till then the last word stands.
    await Promise.race([looked.promise, clock.sleep(firstLookMsMax, signal).catch(() => {})]);
    while (!signal.aborted) {
      await publish();
      await clock.sleep(publishMs, signal);
      await publishBell.wait(refreshMs);
    }
  }

  async function attach(path: string): Promise<Attachment> {
    const attachment = await attachments.attach(path);
    copier.forgive();
    await lookAtDeltas();
    await registry.writeKeys(await keys());
    await writeTrees();
    bell.ring();
    // Who attaches goes on at once with what is on the media: the node's registry and the cluster know it by then.
    if (options.watchRegistry !== false) {
      await registry.untilServed(
        attachment.bundles.flatMap((each) => (each.state === 'Verified' ? each.bundle.digest : [])),
      );
    }
    await publish();
    return attachment;
  }

  async function detach(what: string): Promise<Attachment> {
    const attachment = await attachments.detach(what);
    await writeTrees();
    bell.ring();
    publishBell.ring();
    return attachment;
  }

  const status = () => nodeUpdateStatus(state());
  return {
    attach,
    detach,
    renew: (identity) => http.renew(tlsOf(identity)),
    status,
    registryDown: registry.down,
    routes: contentRoutes({ nodeName, attach, detach, status, missingBytes: deltas.missingBytes }),
    async run() {
      const purged = await store.purgeStale(staleMs).catch(() => 0);
      if (purged > 0) logger.info({ files: purged }, 'stale temporary files removed');
      // The registry serves what is on the disk before the API answers, and without it.
      if (!existsSync(join(dirs.run, 'trees.json'))) await writeTrees();
      signal.addEventListener('abort', () => {
        bell.ring();
        publishBell.ring();
      });
      // Nothing is decided on half a picture: a peer's media must not be missed, nor a release thought unwanted.
      await cluster.start();
      const watch = options.watchRegistry === false ? undefined : registry.watch();
      await Promise.all([lookLoop(), publishLoop(), scrubber.run(), watch]);
      await copier.idle();
      await attachments.close();
      await http.close();
    },
  };
}
