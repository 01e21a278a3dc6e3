import { finalizers, labels, names } from '../api/names.ts';
import type { ClusterVersion, InternalReleaseImage } from '../api/resources.ts';
import type { BundleDocument } from '../bundle/document.ts';
import { messageOf } from '../errors/error.ts';
import type { SignatureWord } from '../gates/release-keys.ts';
import { hostPort } from '../http/client.ts';
import type { KubeClient } from '../kube/client.ts';
import { type Reconciled, runController, watchOf } from '../kube/controller.ts';
import { isConflict } from '../kube/error.ts';
import { createEventRecorder } from '../kube/events.ts';
import { createInformer } from '../kube/informer.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { Digest } from '../oci/digest.ts';
import type { TrustedKey } from '../trust/keys.ts';
import { aggregate } from './aggregate.ts';
import { createApiInt } from './api-int.ts';
import { keepCertificates } from './certificates.ts';
import type { ClusterContent } from './content.ts';
import { keepCredentials } from './credentials.ts';
import { createDocuments } from './documents.ts';
import { newsOf } from './events.ts';
import { type InUse, inUse, type KnownRelease, type UsageFacts } from './in-use.ts';
import { bundlesOf, type KnownBundle } from './known.ts';
import { mirrorEntries } from './mirrors.ts';
import { addFinalizer, createReleaseImage, endDeletion, writeInUse, writeMirrors } from './objects.ts';
import type { AggregationInput, NodeReport } from './report.ts';
import { addressOf, nodeReport } from './reports.ts';
import { createReleaseSignatures } from './signatures.ts';
import { createStatusWriter } from './status-writer.ts';

export interface ReleaseControllerContext {
  readonly client: KubeClient;
  /** The nodes' registries: documents are read from them, and they are asked whether they answer. */
  readonly content: ClusterContent;
  readonly keys: () => Promise<readonly TrustedKey[]>;
  /** Whether the registries' certificates are ours to make: where no platform makes them. */
  readonly certificates?: boolean;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly onReconciled?: ((facts: Reconciled) => void) | undefined;
  readonly signal: AbortSignal;
}

/** Looked at anew this often even where nothing tells of a change: registries do not. */
const resyncMs = 10_000;
/** Sooner while a signed document cannot be read yet: mirrors and the words on updates wait for it. */
const unreadMs = 2_000;
const pingMs = 10_000;
/** A registry that misses this many looks in a row counts as unreachable. */
const missesMax = 2;

/**
 * The InternalReleaseImage controller: one reconciliation reads all that the nodes say, publishes what is in
 * use, where images are mirrored, and what every release is across the cluster. Runs until `signal` aborts.
 */
export async function runReleaseController(context: ReleaseControllerContext): Promise<void> {
  const { client, content, keys, logger, clock, signal } = context;
  const { kinds } = client;
  const informer = { logger, signal, clock };
  const caches = {
    releaseImages: createInformer(client, kinds.InternalReleaseImage, informer),
    machineConfigNodes: createInformer(client, kinds.MachineConfigNode, informer),
    nodeUpdates: client.cacheOf(kinds.NodeUpdate) ?? createInformer(client, kinds.NodeUpdate, informer),
    nodes: createInformer(client, kinds.Node, { ...informer, labelSelector: labels.controlPlane }),
    clusterVersions: createInformer(client, kinds.ClusterVersion, informer),
  };
  const events = createEventRecorder(client, { component: 'sluice-release', logger, clock });
  const documents = createDocuments({ content, keys, clock, logger });
  const signatures = createReleaseSignatures({ client, content, clock, logger });
  const statusWriter = createStatusWriter(client, clock);
  let signed: ReadonlyMap<string, SignatureWord> = new Map();
  const { internalReleaseImage, clusterVersion, registryPort, inUse: inUseName } = names(client.platform);
  const apiInt = createApiInt(client);
  const everything = { keysOf: () => [internalReleaseImage] };
  const pings = new Map<string, { misses: number; why: string | undefined }>();
  /** What the certificates were last seen to be good for, and when. */
  let certified = { of: '', atMs: Number.NEGATIVE_INFINITY };
  /** Of the name that all registries share; undefined while nobody resolves it. */
  let nameMisses: number | undefined;

  async function reconcile(): Promise<{ requeueAfterMs: number }> {
    const bundles = bundlesOf(caches.nodeUpdates.list());
    const read = await documents.read(bundles.map((each) => each.bundleDigest));
    const again = { requeueAfterMs: read.size < bundles.length ? unreadMs : resyncMs };
    const reports = caches.nodes.list().map(reportOf);
    const version = caches.clusterVersions.get(clusterVersion);
    const used = inUse(usageFacts(version, bundles, read));
    let syncError: string | undefined;
    let host: string | undefined;
    try {
      host = await apiInt.host();
      const step = await keepCredentials(client, acceptedCredentials());
      if (step !== 'None') logger.info({ step }, 'credentials of the registries');
      await lookAtCertificates(host);
      await writeInUse(client, used);
      await writeMirrors(client, wantedMirrors([...read.values()], host));
      const words = await signatures.keep(read.values(), payloadsWanted(bundles, used));
      tellOfSignatures(signed, words);
      signed = words;
    } catch (error) {
      if (isConflict(error)) throw error;
      syncError = messageOf(error);
      logger.error({ error: syncError }, 'release objects cannot be written');
    }
    const object = caches.releaseImages.get(internalReleaseImage);
    const mounted = bundles.filter((each) => each.mountedOn.length > 0).map((each) => each.bundleDigest);
    if (object === undefined) {
      const current = bundles.find((each) => each.heldBy.length > 0 && isRunning(each, version));
      if (current !== undefined) await createReleaseImage(client, current.name, mounted);
      return again;
    }
    const deleting = object.metadata.deletionTimestamp !== undefined;
    if (!deleting) await addFinalizer(client, object);
    const status = aggregate({
      spec: object.spec.releases.map((each) => each.name),
      deleting,
      nodes: reports,
      apiInt: {
        host: host === undefined ? undefined : hostPort(host, registryPort),
        reachable: nameMisses === undefined ? undefined : nameMisses < missesMax,
      },
      inUse: used?.names,
      updates: updateWords(version, bundles, read),
      signatures: wordsBeforeUpdate(signed, bundles, version),
      previous: previousOf(object),
      syncError,
      now: clock.now(),
    });
    const step = await statusWriter.write(object, status);
    if (step === 'Written') {
      const kind = kinds.InternalReleaseImage;
      for (const news of newsOf(previousOf(object), status)) events.record({ kind, object, ...news });
    }
    if (deleting && isOurs(object) && isEmptied(reports, used?.names)) {
      await endDeletion(client, object, mounted);
    }
    if (step !== 'Later') return again;
    return { requeueAfterMs: Math.min(again.requeueAfterMs, statusWriter.remainingMs()) };
  }

  /**
   * For new names and addresses at once, else hardly more often than it looks where nothing changes: each look reads
   * and parses every certificate, and in a fleet words of nodes come many a second.
   */
  async function lookAtCertificates(host: string | undefined): Promise<void> {
    if (context.certificates !== true) return;
    const of = [host, ...addresses()].join(' ');
    if (certified.of === of && clock.monotonic() - certified.atMs < resyncMs / 2) return;
    await keepCertificates(client, addresses(), clock, host);
    certified = { of, atMs: clock.monotonic() };
  }

  /** What the cluster-version operator would refuse is news, before anybody asks for the update. */
  function tellOfSignatures(
    before: ReadonlyMap<string, SignatureWord>,
    after: ReadonlyMap<string, SignatureWord>,
  ): void {
    const object = caches.releaseImages.get(internalReleaseImage);
    for (const [name, { good, message }] of after) {
      if (before.get(name)?.message === message) continue;
      logger.info({ release: name, good, message }, 'OpenPGP signature of a release');
      if (good || object === undefined) continue;
      const kind = kinds.InternalReleaseImage;
      events.record({
        kind,
        object,
        type: 'Warning',
        reason: 'ReleaseSignatureRefused',
        message: `${name}: ${message}`,
      });
    }
  }

  function reportOf(node: Parameters<typeof addressOf>[0]): NodeReport {
    const { name } = node.metadata;
    const ping = pings.get(name);
    return nodeReport({
      node,
      machineConfigNode: caches.machineConfigNodes.get(name),
      nodeUpdate: caches.nodeUpdates.get(name),
      ping: ping !== undefined && ping.misses >= missesMax ? ping.why : undefined,
    });
  }

  function acceptedCredentials(): Map<string, string | undefined> {
    return new Map(
      caches.nodes.list().map((node) => {
        const { name } = node.metadata;
        return [name, caches.nodeUpdates.get(name)?.status?.registryCredentials];
      }),
    );
  }

  function usageFacts(
    version: ClusterVersion | undefined,
    bundles: readonly KnownBundle[],
    read: ReadonlyMap<Digest, BundleDocument>,
  ): UsageFacts {
    const { status, spec } = version ?? {};
    const releases = bundles.map((each): KnownRelease => {
      const images = read.get(each.bundleDigest)?.images.map((image) => image.digest) ?? [];
      return { name: each.name, version: each.version, payload: each.payload, images };
    });
    const nodes = caches.nodeUpdates.list().map((update) => ({
      name: update.metadata.name,
      images: [update.status?.booted?.image, update.status?.staged?.image, update.spec.osImage].flatMap(
        (image) => image ?? [],
      ),
    }));
    return {
      // Until the update controller has said what runs, nothing is known to be free.
      clusterVersion:
        status === undefined
          ? undefined
          : { desired: status.desired, requested: spec?.desiredUpdate, history: status.history ?? [] },
      nodes,
      releases,
    };
  }

  /** Payloads at hand or in use; undefined while some node has not said what it holds. */
  function payloadsWanted(
    bundles: readonly KnownBundle[],
    used: InUse | undefined,
  ): ReadonlySet<Digest> | undefined {
    const nodes = caches.nodes.list();
    const told = nodes.every(
      ({ metadata }) => caches.nodeUpdates.get(metadata.name)?.status?.store !== undefined,
    );
    if (used === undefined || nodes.length === 0 || !told) return undefined;
    return new Set([...bundles.map((bundle) => bundle.payload), ...used.digests]);
  }

  const addresses = () =>
    caches.nodes
      .list()
      .flatMap((node) => addressOf(node) ?? [])
      .sort();

  function wantedMirrors(read: readonly BundleDocument[], host: string | undefined) {
    const images = read.flatMap((document) => document.images);
    return mirrorEntries({ images, addresses: addresses(), registryPort, apiInt: host });
  }

  async function pingLoop(): Promise<void> {
    while (!signal.aborted) {
      try {
        for (const [node, why] of await content.ping()) {
          const misses = why === undefined ? 0 : (pings.get(node)?.misses ?? 0) + 1;
          pings.set(node, { misses, why });
        }
        const named = await content.pingByName();
        nameMisses = named === undefined ? undefined : named ? 0 : (nameMisses ?? 0) + 1;
      } catch (error) {
        logger.debug({ error: messageOf(error) }, 'registries cannot be asked');
      }
      await clock.sleep(pingMs, signal);
    }
  }

  await Promise.all([
    pingLoop(),
    runController({
      name: 'release',
      onReconciled: context.onReconciled,
      client,
      logger,
      signal,
      clock,
      watches: [
        watchOf(caches.releaseImages, everything),
        watchOf(caches.machineConfigNodes, everything),
        watchOf(caches.nodeUpdates, everything),
        watchOf(caches.nodes, everything),
        watchOf(caches.clusterVersions, everything),
        watchOf(kinds.PolicyFacts, { ...everything, fieldSelector: `metadata.name=${inUseName}` }),
      ],
      initialKeys: [internalReleaseImage],
      reconcile,
    }),
  ]);
}

function previousOf(object: InternalReleaseImage): AggregationInput['previous'] {
  if (object.status === undefined) return undefined;
  const { conditions, releases } = object.status;
  return {
    conditions: conditions ?? [],
    releases: releases.map((each) => ({ ...each, conditions: each.conditions ?? [] })),
  };
}

function isOurs(object: InternalReleaseImage): boolean {
  return object.metadata.finalizers?.includes(finalizers.internalReleaseImage) === true;
}

/** Nothing is left on any node but what is in use. */
function isEmptied(reports: readonly NodeReport[], used: ReadonlyMap<string, string> | undefined): boolean {
  if (used === undefined) return false;
  return reports.every((report) =>
    report.releases.every(
      (release) => !release.removing && (release.held === false || used.has(release.name)),
    ),
  );
}

function isRunning(bundle: KnownBundle, version: ClusterVersion | undefined): boolean {
  return version?.status?.desired.image.endsWith(`@${bundle.payload}`) === true;
}

/** What is said of signatures in conditions: of the running release only what is good, since it need not be asked for. */
function wordsBeforeUpdate(
  words: ReadonlyMap<string, SignatureWord>,
  bundles: readonly KnownBundle[],
  version: ClusterVersion | undefined,
): Map<string, SignatureWord> {
  const running = new Set(
    bundles.filter((bundle) => isRunning(bundle, version)).map((bundle) => bundle.name),
  );
  return new Map([...words].filter(([name, word]) => word.good || !running.has(name)));
}

/** For each release that is not the running one: whether the running one may go to it, as its document says. */
function updateWords(
  version: ClusterVersion | undefined,
  bundles: readonly KnownBundle[],
  read: ReadonlyMap<Digest, BundleDocument>,
): Map<string, string> {
  const words = new Map<string, string>();
  const completed = version?.status?.history?.find((entry) => entry.state === 'Completed');
  const current = completed?.version ?? version?.status?.desired.version;
  for (const bundle of bundles) {
    const document = read.get(bundle.bundleDigest);
    if (current === undefined || document === undefined || document.version === current) continue;
    words.set(
      bundle.name,
      document.previous.includes(current)
        ? `An update from ${current} to ${document.version} is possible`
        : `${document.version} cannot be reached from ${current}, which is not among its previous versions`,
    );
  }
  return words;
}
