import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Platform } from '../api/kinds.ts';
import { labels, names } from '../api/names.ts';
import type { ClusterVersion, UpdatePreflight, UpdatePreflightStatus } from '../api/resources.ts';
import { messageOf } from '../errors/error.ts';
import { digestPart, sourceOf } from '../gates/gather.ts';
import { runIDBytes, runIDOf } from '../gates/run-request.ts';
import { createReleases, findRelease, type Release, type Releases } from '../gates/target.ts';
import type { KubeClient } from '../kube/client.ts';
import { type Reconciled, runController, watchOf } from '../kube/controller.ts';
import { createEventRecorder, type EventRecorder } from '../kube/events.ts';
import type { Clock } from '../observe/clock.ts';
import type { Logger } from '../observe/log.ts';
import { isDigest } from '../oci/digest.ts';
import type { ContentSource } from '../oci/source.ts';
import { knownBundles } from '../release/content.ts';
import type { TrustedKey } from '../trust/keys.ts';
import { advanceRun, BuiltinMemory, isContentTrouble, type Run } from './advance.ts';
import { dropAnsweredRequests, finalize, removeOwnRun, sweepOrphans, withFinalizer } from './cleanup.ts';
import type { Row } from './report.ts';
import { decideRun, timeoutMsOf } from './run.ts';
import { judgedStatus, startedStatus, supersededStatus, waitingStatus } from './status.ts';

export interface PreflightOptions {
  readonly client: KubeClient;
  /** Where payloads and bundles are read: the nodes' registries. */
  readonly content: ContentSource;
  readonly trustedKeys: () => Promise<readonly TrustedKey[]>;
  readonly clock: Clock;
  readonly onReconciled?: ((facts: Reconciled) => void) | undefined;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly platform: Platform;
  /** Random bytes, for run ids; default: the system's. */
  readonly random?: (bytes: number) => Uint8Array;
}

type PreflightContext = Required<Omit<PreflightOptions, 'onReconciled'>> & { readonly events: EventRecorder };

/** While a run is in flight it is looked at again after this long, whatever the watches tell. */
const runningPollMs = 1000;
/** Beyond a run's timeout the Jobs' own deadline must have ended it; then we do. */
const deadlineSlackMs = 30_000;

/** Runs the UpdatePreflight controller until the signal aborts. */
export async function runPreflightController(options: PreflightOptions): Promise<void> {
  const context = contextOf(options);
  const { client, logger, signal, clock } = context;
  const { kinds } = client;
  const { clusterVersionNamespace, preflightNamespace } = names(context.platform);
  const reconciler = createReconciler(context);
  await sweepOrphans(context).catch((error: unknown) =>
    logger.warn({ error: messageOf(error) }, 'old preflight Jobs could not be looked through'),
  );
  const ofRun = (object: { metadata: { labels?: Record<string, string> } }) =>
    reconciler.keysOfRun(object.metadata.labels?.[labels.preflightRun] ?? '');
  await runController({
    name: 'preflight',
    onReconciled: options.onReconciled,
    client,
    logger,
    signal,
    clock,
    concurrency: 4,
    watches: [
      watchOf(kinds.UpdatePreflight, {
        namespace: clusterVersionNamespace,
        keysOf: (object) => [object.metadata.name, ...reconciler.keysOfRun(object.status?.runID ?? '')],
      }),
      watchOf(kinds.Job, {
        namespace: preflightNamespace,
        labelSelector: labels.preflightRun,
        keysOf: ofRun,
      }),
      watchOf(kinds.Pod, {
        namespace: preflightNamespace,
        labelSelector: labels.preflightRun,
        keysOf: ofRun,
      }),
      watchOf(kinds.ClusterVersion, { keysOf: () => reconciler.allKeys() }),
    ],
    reconcile: (key) => reconciler.reconcile(key),
  });
}

interface Reconciler {
  reconcile(name: string): Promise<{ requeueAfterMs?: number } | undefined>;
  /** Objects whose run this is; what is not known here yet is found by the poll. */
  keysOfRun(runID: string): string[];
  allKeys(): string[];
}

function contextOf(options: PreflightOptions): PreflightContext {
  const { client, logger, clock } = options;
  const events = createEventRecorder(client, { component: 'sluice-preflight', logger, clock });
  return { random: randomBytes, ...options, events };
}

function createReconciler(context: PreflightContext): Reconciler {
  const { client, clock } = context;
  const { kinds } = client;
  const { clusterVersion: singleton, clusterVersionNamespace: namespace } = names(context.platform);
  const releases = createReleases(context.content, context.trustedKeys);
  const builtin = new BuiltinMemory();
  /** Object → run id, to find objects by the labels of their Jobs. Only a hint. */
  const runs = new Map<string, string>();

  async function reconcile(name: string): Promise<{ requeueAfterMs?: number } | undefined> {
    let object = await client.tryGet(kinds.UpdatePreflight, name, namespace);
    if (object === undefined) {
      runs.delete(name);
      return undefined;
    }
    if (object.metadata.deletionTimestamp !== undefined) return await finalize(context, object);
    object = await withFinalizer(context, object);
    runs.set(name, object.status?.runID ?? '');
    const clusterVersion = await client.tryGet(kinds.ClusterVersion, singleton);
    if (clusterVersion?.status === undefined) {
      const why = { reason: 'NoClusterVersion', message: 'the version of the cluster is not known yet' };
      const status = waitingStatus(object, why, clock.now());
      if (!isDeepStrictEqual(status, object.status)) {
        await client.updateStatus(kinds.UpdatePreflight, { ...object, status });
      }
      return { requeueAfterMs: 5000 };
    }
    return await decide(object, clusterVersion);
  }

  async function decide(object: UpdatePreflight, clusterVersion: ClusterVersion) {
    const release = await resolve(context, releases, object);
    const now = clock.now();
    const decision = decideRun(object, {
      now,
      source: sourceOf(clusterVersion).digest,
      target: 'found' in release ? release.found.digest : undefined,
    });
    switch (decision.act) {
      case 'start': {
        const started = await start(context, object, { clusterVersion, release, runID: decision.runID });
        runs.set(object.metadata.name, started.status?.runID ?? '');
        return await advance(started, clusterVersion, release);
      }
      case 'advance':
        return await advance(object, clusterVersion, release);
      case 'supersede':
        await supersede(context, object, decision);
        return {};
      case 'judge':
        await judge(context, object, object.status?.checks ?? []);
        return {};
      case 'rest':
        await dropAnsweredRequests(context, object);
        return decision.requeueAfterMs === undefined ? {} : { requeueAfterMs: decision.requeueAfterMs };
    }
  }

  async function advance(object: UpdatePreflight, clusterVersion: ClusterVersion, release: Run['release']) {
    const { preflightNamespace, preflightServiceAccount } = names(context.platform);
    const { status } = object;
    const timeoutMs = timeoutMsOf(object);
    const startedAt = Date.parse(status?.startedAt ?? '');
    const now = clock.now();
    const { rows, checkSet } = await advanceRun({
      client,
      releases,
      builtin,
      object,
      clusterVersion,
      release,
      now,
      startedAt,
      deadline: startedAt + timeoutMs + deadlineSlackMs,
      context: {
        runID: status?.runID ?? '',
        platform: context.platform,
        namespace: preflightNamespace,
        serviceAccount: preflightServiceAccount,
        timeoutMs,
        source: sourceOf(clusterVersion),
      },
    });
    const verdict = await judge(context, object, rows, foundSince(object, release, checkSet));
    return verdict === 'Running' ? { requeueAfterMs: runningPollMs } : {};
  }

  return {
    reconcile,
    keysOfRun: (runID) =>
      runID === '' ? [] : [...runs].filter(([, each]) => each === runID).map(([name]) => name),
    allKeys: () => [...runs.keys()],
  };
}

/** The release that spec names, through its signed bundle; or why not. */
async function resolve(
  { client }: PreflightContext,
  releases: Releases,
  { spec }: UpdatePreflight,
): Promise<Run['release']> {
  const digest = digestPart(spec.image ?? '');
  let isAtHand = false;
  try {
    const claims = await knownBundles(client);
    isAtHand = claims.some((claim) => claim.payload === digest || claim.version === spec.version);
    const found = await findRelease(releases, claims, {
      ...(isDigest(digest) ? { digest } : {}),
      ...(spec.version === undefined ? {} : { version: spec.version }),
    });
    return { found };
  } catch (failure) {
    return { failure, mayPass: isAtHand && isContentTrouble(failure) };
  }
}

/** Writes down the run, then lets go of the one before: who comes after a crash finds its Jobs by its id. */
async function start(
  context: PreflightContext,
  object: UpdatePreflight,
  begin: { clusterVersion: ClusterVersion; release: Run['release']; runID: string | undefined },
): Promise<UpdatePreflight> {
  const { client, clock, random } = context;
  const { release } = begin;
  const source = sourceOf(begin.clusterVersion);
  const runID = begin.runID ?? (await joined(context, object, begin)) ?? runIDOf(random(runIDBytes));
  const target =
    'found' in release
      ? targetOf(release.found)
      : { ...pick(object.spec, 'version'), ...pick(object.spec, 'image') };
  const run = { runID, target, source: isDigest(source.digest) ? source : { version: source.version } };
  const status = startedStatus(object, run, clock.now());
  const started = await client.updateStatus(client.kinds.UpdatePreflight, { ...object, status });
  const before = object.status?.runID;
  if (before !== undefined && before !== runID) await removeOwnRun(context, object, before);
  return started;
}

/** A run in flight for the same release and the same cluster is joined, not repeated. */
async function joined(
  { client, platform }: PreflightContext,
  object: UpdatePreflight,
  { clusterVersion, release }: { clusterVersion: ClusterVersion; release: Run['release'] },
): Promise<string | undefined> {
  if ('failure' in release) return undefined;
  const { clusterVersionNamespace: namespace } = names(platform);
  const others = await client.list(client.kinds.UpdatePreflight, { namespace });
  const source = sourceOf(clusterVersion).digest;
  return others.items.find(
    ({ metadata, status }) =>
      metadata.name !== object.metadata.name &&
      metadata.deletionTimestamp === undefined &&
      status?.verdict === 'Running' &&
      status.target?.digest === release.found.digest &&
      status.source?.digest === source,
  )?.status?.runID;
}

/** What was found out about its target since its run began. */
function foundSince(
  object: UpdatePreflight,
  release: Run['release'],
  checkSet: string | undefined,
): Partial<UpdatePreflightStatus> {
  const isKnown = 'failure' in release || object.status?.target?.digest !== undefined;
  return {
    ...(isKnown ? {} : { target: targetOf(release.found) }),
    ...(checkSet === undefined ? {} : { checkSet }),
  };
}

function targetOf({ version, image, digest }: Release) {
  return { version, image, digest };
}

/** Writes the report that follows from these rows, where it differs from the one that stands. */
async function judge(
  context: PreflightContext,
  object: UpdatePreflight,
  rows: readonly Row[],
  found: Partial<UpdatePreflightStatus> = {},
): Promise<string> {
  const { client, clock, events, logger } = context;
  const { status: before } = object;
  const status = judgedStatus({ ...object, status: { ...before, ...found } }, rows, clock.now());
  if (!isDeepStrictEqual(status, before)) {
    await client.updateStatus(client.kinds.UpdatePreflight, { ...object, status });
  }
  if (before?.verdict !== 'Running' || status.verdict === 'Running') return status.verdict ?? '';
  const { runID = '', verdict = '', message = '' } = status;
  logger.info({ preflight: object.metadata.name, runID, verdict }, 'preflight ended');
  events.record({
    kind: client.kinds.UpdatePreflight,
    object,
    type: verdict === 'Passed' ? 'Normal' : 'Warning',
    reason: `Preflight${verdict}`,
    message,
  });
  await removeOwnRun(context, object, runID, { keepFinished: true });
  return verdict;
}

async function supersede(
  context: PreflightContext,
  object: UpdatePreflight,
  why: { reason: string; message: string },
): Promise<void> {
  const { client, clock } = context;
  const status = supersededStatus(object, why, clock.now());
  await client.updateStatus(client.kinds.UpdatePreflight, { ...object, status });
  if (object.status?.verdict === 'Running') await removeOwnRun(context, object, object.status.runID ?? '');
}

function pick<T, K extends keyof T>(from: T, key: K): { [P in K]?: NonNullable<T[P]> } {
  const value = from[key];
  return (value === undefined || value === null ? {} : { [key]: value }) as { [P in K]?: NonNullable<T[P]> };
}
