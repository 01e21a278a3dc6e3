import { randomBytes, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Platform } from '../api/kinds.ts';
import { labels, names } from '../api/names.ts';
import type { ClusterVersion, ClusterVersionStatus } from '../api/resources.ts';
import { faultPoint } from '../durable/fault.ts';
import { isSluiceError, messageOf } from '../errors/error.ts';
import { digestPart } from '../gates/gather.ts';
import { type BundleClaim, createReleases, type Release } from '../gates/target.ts';
import type { KubeClient } from '../kube/client.ts';
import { findCondition } from '../kube/conditions.ts';
import { type ControllerWatch, type Reconciled, runController, watchOf } from '../kube/controller.ts';
import { isAlreadyExists } from '../kube/error.ts';
import { createEventRecorder } from '../kube/events.ts';
import type { Clock } from '../observe/clock.ts';
import { counted } from '../observe/count.ts';
import type { Logger } from '../observe/log.ts';
import { isDigest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import { knownBundles } from '../release/content.ts';
import type { TrustedKey } from '../trust/keys.ts';
import { type AvailableUpdates, availableUpdates } from './available.ts';
import { Background } from './background.ts';
import { install } from './install.ts';
import { readObstacles } from './obstacles.ts';
import { type ApplyNotes, advanceUpdate, freshNotes, keepApplied, type Progress } from './progress.ts';
import { acceptedRecord, writeRecord } from './record.ts';
import { acceptedRisksText, isUnverified } from './refusal.ts';
import { ensureReportKey, reportCompleted } from './reporter.ts';
import { judgeRequest, type RequestContext, type RequestOutcome } from './request.ts';
import { begunStatus, seenStatus } from './status.ts';
import { tellChanges } from './telling.ts';
import { WaitTimes } from './wait.ts';

export interface UpdateOptions {
  readonly client: KubeClient;
  /** Where payloads and bundles are read: the nodes' registries. */
  readonly content: ContentSource;
  readonly trustedKeys: () => Promise<readonly TrustedKey[]>;
  readonly clock: Clock;
  readonly onReconciled?: ((facts: Reconciled) => void) | undefined;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly platform: Platform;
  /** The payload, by digest, that a cluster without a history is installed with. */
  readonly initialRelease?: string;
  /** Id by which manifests exclude themselves (`exclude.release.openshift.io/<id>`). Default: none. */
  readonly excludeID?: string;
  /** Random bytes, for run ids; default: the system's. */
  readonly random?: (bytes: number) => Uint8Array;
  /** Milliseconds between two passes that keep an applied release as it is. Default four minutes. */
  readonly keepIntervalMs?: number;
}

/** Milliseconds after which it looks again, whatever the watches tell. */
const applyingPollMs = 2000;
const waitingPollMs = 5000;
const refusedPollMs = 15_000;
const restingPollMs = 60_000;
const keepIntervalMsDefault = 4 * 60_000;

/** Runs the update controller until the signal aborts. */
export async function runUpdateController(options: UpdateOptions): Promise<void> {
  const { client, logger, signal, clock } = options;
  const { clusterVersion } = names(options.platform);
  const updater = createUpdater(options);
  await runController({
    name: 'update',
    onReconciled: options.onReconciled,
    client,
    logger,
    signal,
    clock,
    initialKeys: [clusterVersion],
    watches: watches(client, options.platform),
    reconcile: () => updater.reconcile(),
  });
}

/** Everything that can let a request through, stop it, or bring an update on. */
function watches(client: KubeClient, platform: Platform): ControllerWatch[] {
  const { kinds } = client;
  const { clusterVersion, clusterVersionNamespace, configNamespace, adminAcks, trustedKeys } =
    names(platform);
  const keysOf = () => [clusterVersion];
  return [
    watchOf(kinds.ClusterVersion, { keysOf }),
    watchOf(kinds.ClusterOperator, { keysOf }),
    watchOf(kinds.UpdatePreflight, { namespace: clusterVersionNamespace, keysOf }),
    watchOf(kinds.InternalReleaseImage, { keysOf }),
    watchOf(client.cacheOf(kinds.NodeUpdate) ?? kinds.NodeUpdate, { keysOf }),
    watchOf(kinds.Node, { labelSelector: labels.controlPlane, keysOf }),
    watchOf(kinds.ConfigMap, {
      namespace: configNamespace,
      keysOf: ({ metadata }) =>
        metadata.name === adminAcks || metadata.name === trustedKeys ? [clusterVersion] : [],
    }),
  ];
}

interface Updater {
  reconcile(): Promise<{ requeueAfterMs?: number }>;
}

function createUpdater(options: UpdateOptions): Updater {
  const { client, clock, logger } = options;
  const { kinds } = client;
  const random = options.random ?? randomBytes;
  const releases = createReleases(options.content, options.trustedKeys);
  const events = createEventRecorder(client, { component: 'sluice-update', logger, clock });
  const available = new Background<AvailableUpdates>();
  const reading: RequestContext['reading'] = new Background();
  const memory: Memory = {
    notes: freshNotes(''),
    keptAt: Number.NEGATIVE_INFINITY,
    keep: { attempt: 0, times: new WaitTimes() },
  };

  async function reconcile(): Promise<{ requeueAfterMs?: number }> {
    let clusterVersion = await findOrCreate(client, options);
    if (clusterVersion === undefined) return { requeueAfterMs: refusedPollMs };
    const { claims, failure } = await readClaims(client);
    if ((clusterVersion.status?.history ?? []).length === 0) {
      clusterVersion = await install(options, releases, claims, clusterVersion);
      if ((clusterVersion.status?.history ?? []).length === 0) return { requeueAfterMs: waitingPollMs };
    }
    const current = clusterVersion.status?.desired.version ?? '';
    const looking = await available.of(current, () => availableUpdates(releases, claims, current));
    if (looking.state === 'failed') throw looking.error;
    // What takes long to look through stays as it stood.
    const found =
      looking.state === 'done'
        ? looking.value
        : { updates: clusterVersion.status?.availableUpdates ?? [], problems: [] };
    const outcome = await judgeRequest(
      { client, releases, claims, available: found.updates, now: clock.now(), random, reading },
      clusterVersion,
    );
    if (outcome.act === 'accept') clusterVersion = await accept(clusterVersion, outcome);
    const request = outcome.act === 'accept' ? ({ state: 'none' } as const) : outcome.view;
    const progress = await advance(clusterVersion, claims);
    const problems = failure === undefined ? found.problems : [failure];
    const before = clusterVersion;
    const status = seenStatus(clusterVersion, {
      request,
      progress,
      upgradeable: await readObstacles(client, clusterVersion, progress.waiting),
      available: failure === undefined ? found.updates : undefined,
      retrieval: {
        ok: failure === undefined,
        message:
          problems.length === 0
            ? `${counted(claims.length, 'release is', 'releases are')} at hand`
            : problems.join('; ').slice(0, 4096),
      },
      now: clock.now(),
    });
    if (progress.completed) faultPoint('update-before-completed');
    clusterVersion = await write(clusterVersion, status);
    tellChanges(events, client, before, status);
    await report(clusterVersion);
    if (!progress.completed) return { requeueAfterMs: applyingPollMs };
    if (request.state === 'refused')
      return { requeueAfterMs: request.pending ? waitingPollMs : refusedPollMs };
    return { requeueAfterMs: restingPollMs };
  }

  /** Writes down that the release was let through, and what was passed over, before anything of it is applied. */
  async function accept(
    clusterVersion: ClusterVersion,
    outcome: Extract<RequestOutcome, { act: 'accept' }>,
  ): Promise<ClusterVersion> {
    const { release, judged } = outcome;
    const risks = acceptedRisksText(judged);
    const { privatePem } = await ensureReportKey(client);
    const nodes = await client.all(kinds.NodeUpdate);
    const record = acceptedRecord(clusterVersion, { ...outcome, nodes, now: clock.now() });
    await writeRecord(client, clusterVersion, record, privatePem);
    faultPoint('update-recorded');
    const verified = !judged.forced.some(isUnverified);
    const status = begunStatus(clusterVersion, release, { verified, acceptedRisks: risks }, clock.now());
    const accepted = await client.updateStatus(kinds.ClusterVersion, { ...clusterVersion, status });
    faultPoint('update-accepted');
    logger.info({ version: release.version, digest: release.digest, risks }, 'update accepted');
    const { version, image } = release;
    tell(clusterVersion, 'Normal', 'PayloadLoaded', `version="${version}" image="${image}"`);
    if (risks !== undefined) tell(clusterVersion, 'Warning', 'PreconditionWarn', risks);
    return accepted;
  }

  async function advance(clusterVersion: ClusterVersion, claims: readonly BundleClaim[]): Promise<Progress> {
    const { signal, excludeID = '' } = options;
    const context = { client, releases, signal, excludeID, now: clock.now() };
    const { history = [], desired } = clusterVersion.status ?? {};
    const isCompleted = history[0]?.state === 'Completed';
    const due = clock.now() - memory.keptAt >= (options.keepIntervalMs ?? keepIntervalMsDefault);
    if (isCompleted && !due) return { completed: true, done: 0, total: 0, waiting: memory.keptWaiting ?? [] };
    const digest = digestPart(desired?.image ?? '');
    let release: Release;
    try {
      if (!isDigest(digest))
        return stuck(isCompleted, 'the image of status.desired has no digest', 'NoDesiredImage');
      release = await releases.byPayload(digest, claims);
    } catch (error) {
      const reason = isSluiceError(error, 'SignatureMissing', 'SignatureUntrusted')
        ? 'ImageVerificationFailed'
        : 'UpdatePayloadRetrievalFailed';
      return stuck(isCompleted, messageOf(error), reason);
    }
    if (isCompleted) {
      const kept = await keepApplied(context, clusterVersion, release, memory.keep);
      memory.keep.attempt += 1;
      memory.keptAt = clock.now();
      memory.keptWaiting = kept.waiting.filter((wait) => wait.failing !== undefined);
      return { ...kept, waiting: memory.keptWaiting, completed: true };
    }
    if (memory.notes.digest !== digest) {
      const told = findCondition(clusterVersion.status?.conditions, 'Progressing')?.message;
      memory.notes = freshNotes(digest, told);
    }
    const progress = await advanceUpdate(context, clusterVersion, release, memory.notes);
    if (progress.completed) memory.keptAt = clock.now();
    return progress;
  }

  async function write(
    clusterVersion: ClusterVersion,
    status: ClusterVersionStatus,
  ): Promise<ClusterVersion> {
    if (isDeepStrictEqual(status, clusterVersion.status)) return clusterVersion;
    return await client.updateStatus(kinds.ClusterVersion, { ...clusterVersion, status });
  }

  /** A completed update has its signed report; one that cannot be made holds nothing up, and is told. */
  async function report(clusterVersion: ClusterVersion): Promise<void> {
    const [latest] = clusterVersion.status?.history ?? [];
    const of = latest?.state === 'Completed' ? `${latest.image} ${latest.startedTime}` : undefined;
    if (of === undefined || memory.reported === of) return;
    try {
      const name = await reportCompleted(client, clusterVersion);
      memory.reported = of;
      if (name === undefined) return;
      logger.info({ report: name }, 'the report of the update is signed');
      tell(clusterVersion, 'Normal', 'UpdateReported', `its signed report is in the ConfigMap ${name}`);
    } catch (error) {
      const message = `the report of the update could not be made: ${messageOf(error)}`;
      logger.warn({ error: messageOf(error) }, 'the report of the update could not be made');
      tell(clusterVersion, 'Warning', 'UpdateNotReported', message);
    }
  }

  function tell(object: ClusterVersion, type: 'Normal' | 'Warning', reason: string, message: string): void {
    events.record({ kind: kinds.ClusterVersion, object, type, reason, message });
  }

  return { reconcile };
}

interface Memory {
  notes: ApplyNotes;
  /** The completed update whose report is known to be there. */
  reported?: string;
  keptAt: number;
  keep: { attempt: number; readonly times: WaitTimes };
  keptWaiting?: Progress['waiting'];
}

function stuck(completed: boolean, message: string, failing: string): Progress {
  return { completed, done: 0, total: 0, waiting: [{ message, failing }] };
}

async function findOrCreate(client: KubeClient, options: UpdateOptions): Promise<ClusterVersion | undefined> {
  const { kinds } = client;
  const { clusterVersion: name } = names(options.platform);
  const standing = await client.tryGet(kinds.ClusterVersion, name);
  if (standing !== undefined) return standing;
  // On plain Kubernetes nobody else makes it, and its first release is what a person then asks for.
  if (options.initialRelease === undefined && options.platform !== 'kubernetes') return undefined;
  try {
    return await client.create(kinds.ClusterVersion, {
      metadata: { name },
      spec: { clusterID: randomUUID() },
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return await client.get(kinds.ClusterVersion, name);
  }
}

async function readClaims(client: KubeClient): Promise<{ claims: readonly BundleClaim[]; failure?: string }> {
  try {
    return { claims: await knownBundles(client) };
  } catch (error) {
    return { claims: [], failure: `the releases at hand cannot be read: ${messageOf(error)}` };
  }
}
