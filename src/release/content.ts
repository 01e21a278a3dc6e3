import { lookup } from 'node:dns/promises';
import { labels, names } from '../api/names.ts';
import { isSluiceError, SluiceError } from '../errors/error.ts';
import { type ClientTls, createHttpClient, hostPort } from '../http/client.ts';
import type { KubeClient } from '../kube/client.ts';
import { type Clock, systemClock } from '../observe/clock.ts';
import { createRegistryClient } from '../oci/client.ts';
import type { Digest } from '../oci/digest.ts';
import type { Descriptor } from '../oci/manifest.ts';
import type { BlobOptions, BlobReader, ContentSource, RawManifest } from '../oci/source.ts';
import { createApiInt } from './api-int.ts';
import { registryPassword } from './credentials.ts';
import { bundlesOf, type KnownBundle } from './known.ts';
import { pingRegistry } from './ping.ts';
import { addressOf } from './reports.ts';

/** How a program proves itself to the nodes' registries. */
export interface RegistryIdentity {
  /** PEM of the authority that the registries' certificates come from. */
  readonly caPem: string;
  /** A client certificate of the cluster's authority; without one the registry Secret's password is used. */
  readonly certPem?: string | undefined;
  readonly keyPem?: string | undefined;
}

/** All control-plane nodes' registries as one source. */
export interface ClusterContent extends ContentSource {
  /** Asks each registry whether it answers: by node, undefined where it does, else why not. */
  ping(): Promise<Map<string, string | undefined>>;
  /** Whether one of them answers under the name that all share; undefined where nobody resolves that name. */
  pingByName(): Promise<boolean | undefined>;
  close(): Promise<void>;
}

interface Member {
  readonly node: string;
  readonly address: string;
  readonly source: ContentSource;
  /** Not asked first before this time. */
  unwellUntil: number;
}

/** How long the list of nodes and the password are believed. */
const refreshMs = 10_000;
/** And how long where one of them is not there yet, or was refused. */
const refreshSoonMs = 1_000;
/** How long a registry that failed is asked last. */
const unwellMs = 15_000;

/**
 * What any control-plane node can serve: each call asks the registries in turn, those that answered lately
 * first. A blob goes on from another node where one falls silent. Nothing is found "absent" while a registry
 * could not be asked: that is an error instead.
 */
export function clusterContent(
  client: KubeClient,
  identity: RegistryIdentity,
  options: {
    readonly clock?: Clock;
    /** Where the identity may change: asked now and then. One that cannot be read leaves the last. */
    readonly reread?: (() => Promise<RegistryIdentity>) | undefined;
  } = {},
): ClusterContent {
  const clock = options.clock ?? systemClock;
  const http = createHttpClient(tlsOf(identity));
  let known = JSON.stringify(tlsOf(identity));
  const apiInt = createApiInt(client);
  const needsPassword = identity.certPem === undefined;
  let members: Member[] = [];
  let refreshAt = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | undefined;

  async function renew(): Promise<void> {
    const next = await options.reread?.().catch(() => undefined);
    const text = next === undefined ? known : JSON.stringify(tlsOf(next));
    if (next === undefined || text === known) return;
    http.renew(tlsOf(next));
    known = text;
  }

  async function refresh(): Promise<void> {
    await renew();
    const { registryPort, registryUser } = names(client.platform);
    const nodes = await client.list(client.kinds.Node, { labelSelector: labels.controlPlane });
    const password = needsPassword ? await registryPassword(client) : undefined;
    const before = new Map(members.map((member) => [member.node, member]));
    members = nodes.items.flatMap((node) => {
      const address = addressOf(node);
      if (address === undefined) return [];
      const source = createRegistryClient({
        baseUrl: `https://${hostPort(address, registryPort)}`,
        http,
        ...(password === undefined ? {} : { auth: { username: registryUser, password } }),
      });
      const { name } = node.metadata;
      return [{ node: name, address, source, unwellUntil: before.get(name)?.unwellUntil ?? 0 }];
    });
    const complete = members.length > 0 && !(needsPassword && password === undefined);
    refreshAt = clock.now() + (complete ? refreshMs : refreshSoonMs);
  }

  async function inTurn(): Promise<Member[]> {
    if (clock.now() >= refreshAt) {
      refreshing ??= refresh().finally(() => {
        refreshing = undefined;
      });
      // A list that is a little old serves better than none while the API is away.
      await refreshing.catch((error: unknown) => {
        if (members.length === 0) throw error;
      });
    }
    if (members.length === 0) {
      throw new SluiceError('Unreachable', 'no control-plane node has registered an address');
    }
    const now = clock.now();
    return [...members].sort((a, b) => Number(a.unwellUntil > now) - Number(b.unwellUntil > now));
  }

  /** The first that has it; an error only where none has and one could not be asked. */
  async function firstOf<T>(ask: (source: ContentSource) => Promise<T | undefined>): Promise<T | undefined> {
    let failure: unknown;
    for (const member of await inTurn()) {
      try {
        const found = await ask(member.source);
        if (found !== undefined) return found;
      } catch (error) {
        failure ??= error;
        if (isSluiceError(error, 'Unauthorized'))
          refreshAt = Math.min(refreshAt, clock.now() + refreshSoonMs);
        if (isSluiceError(error, 'Unreachable', 'Stalled', 'Timeout')) {
          member.unwellUntil = clock.now() + unwellMs;
        }
      }
    }
    if (failure !== undefined) throw failure;
    return undefined;
  }

  /** What all that answer say together; an error where none answers. */
  async function unionOf<T>(ask: (source: ContentSource) => Promise<T[]>): Promise<T[]> {
    const results = await Promise.allSettled((await inTurn()).map((member) => ask(member.source)));
    const answers = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined && results.every((result) => result.status === 'rejected')) throw failed.reason;
    return answers;
  }

  return {
    label: 'the registry of the control plane',
    manifest: (repository, reference): Promise<RawManifest | undefined> =>
      firstOf((source) => source.manifest(repository, reference)),
    async blob(repository: string, digest: Digest, wanted: BlobOptions = {}) {
      const open = (offset: number) =>
        firstOf((source) => source.blob(repository, digest, { ...wanted, offset }));
      const first = await open(wanted.offset ?? 0);
      return first === undefined ? undefined : goingOn(first, wanted.offset ?? 0, open);
    },
    async tags(repository) {
      return [...new Set(await unionOf((source) => source.tags(repository)))].sort();
    },
    async referrers(repository, digest) {
      const all = await unionOf((source) => source.referrers(repository, digest));
      return [...new Map<Digest, Descriptor>(all.map((each) => [each.digest, each])).values()];
    },
    ping: async () => {
      const { registryPort } = names(client.platform);
      const asked = await inTurn();
      return new Map(
        await Promise.all(
          asked.map(async ({ node, address }) => {
            const why = await pingRegistry(http, hostPort(address, registryPort));
            return [node, why] as const;
          }),
        ),
      );
    },
    async pingByName() {
      const host = await apiInt.host();
      const resolved = host === undefined ? undefined : await lookup(host).catch(() => undefined);
      if (host === undefined || resolved === undefined) return undefined;
      const { registryPort } = names(client.platform);
      return (await pingRegistry(http, hostPort(host, registryPort))) === undefined;
    },
    close: () => http.close(),
  };
}

/** A blob whose stream is opened again elsewhere, where it stopped, when a registry falls silent. */
function goingOn(
  first: BlobReader,
  offset: number,
  open: (offset: number) => Promise<BlobReader | undefined>,
): BlobReader {
  async function* stream(): AsyncGenerator<Uint8Array> {
    let at = offset;
    let reader: BlobReader | undefined = first;
    while (reader !== undefined) {
      const begun: number = at;
      try {
        for await (const chunk of reader.stream) {
          at += chunk.length;
          yield chunk;
        }
        return;
      } catch (error) {
        // Without a byte of progress it would only turn in circles.
        if (!isSluiceError(error, 'Unreachable', 'Stalled', 'MediaLost') || at === begun) throw error;
        reader = at < first.size ? await open(at) : undefined;
        if (reader === undefined) throw error;
      }
    }
  }
  return {
    size: first.size,
    stream: stream(),
    ...(first.close === undefined ? {} : { close: first.close }),
  };
}

/** Every release at hand, by name; where nodes disagree about a name's content, one entry for each digest. */
export async function knownBundles(client: KubeClient): Promise<KnownBundle[]> {
  return bundlesOf(await client.all(client.kinds.NodeUpdate));
}

function tlsOf({ caPem, certPem, keyPem }: RegistryIdentity): ClientTls {
  return {
    ca: caPem,
    ...(certPem === undefined ? {} : { cert: certPem }),
    ...(keyPem === undefined ? {} : { key: keyPem }),
  };
}
