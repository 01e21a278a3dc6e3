import { annotations } from '../api/names.ts';
import type { ClusterVersion, UpdatePreflight } from '../api/resources.ts';
import { isSluiceError, messageOf } from '../errors/error.ts';
import { checkOutcome } from '../gates/check.ts';
import { checkSetOf } from '../gates/check-set.ts';
import { evaluateGates } from '../gates/gates.ts';
import { gatherFacts } from '../gates/gather.ts';
import { known } from '../gates/known.ts';
import {
  type Release,
  type ReleaseContents,
  type Releases,
  targetFact,
  unverifiedFact,
} from '../gates/target.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Payload } from '../payload/payload.ts';
import { type ReleaseCheck, releaseChecks } from './checks.ts';
import { grantsFor, parseExtraReads } from './grant.ts';
import { jobName, type RunContext, renderJob } from './job.ts';
import { createJob, observeCheck, type RunObjects, readRun } from './jobs.ts';
import { builtinRow, checkRows, coverageRows, type Row, unreadRow } from './report.ts';

/** A run in flight, and all that it is advanced with. */
export interface Run {
  readonly client: KubeClient;
  readonly releases: Releases;
  readonly object: UpdatePreflight;
  readonly clusterVersion: ClusterVersion;
  /** The release, or why it could not be verified. */
  readonly release: { readonly found: Release } | { readonly failure: unknown; readonly mayPass: boolean };
  readonly context: Omit<RunContext, 'target'>;
  readonly now: number;
  /** When the run began. */
  readonly startedAt: number;
  /** When the controller gives up on what still runs. */
  readonly deadline: number;
  readonly builtin: BuiltinMemory;
}

/** Milliseconds that built-in findings stand while checks come and go: the cluster is not read anew for each of them. */
const builtinFreshMs = 15_000;
/** The same in the turn in which a run may end: its report tells how the cluster is then. */
const builtinFreshAtEndMs = 3000;

/** The built-in rows of runs in flight, as they were a moment ago. */
export class BuiltinMemory {
  readonly #rows = new Map<string, { at: number; rows: Row[] }>();

  async of(run: Run, isEnding: boolean, read: () => Promise<Row[]>): Promise<Row[]> {
    const held = this.#rows.get(run.context.runID);
    const freshMs = isEnding ? builtinFreshAtEndMs : builtinFreshMs;
    if (held !== undefined && run.now - held.at < freshMs && run.now >= held.at) return held.rows;
    const rows = await read();
    this.#rows.clear();
    this.#rows.set(run.context.runID, { at: run.now, rows });
    return rows;
  }
}

/**
 * Brings a run nearer to its end: makes the Jobs that are missing, reads what came of the others. Nothing is
 * remembered but what stands in the API: the Jobs carry the run's label, and their names follow from the run id.
 *
 * @returns all rows of the report, as they stand now, and which set of checks they speak about.
 */
export async function advanceRun(run: Run): Promise<{ rows: Row[]; checkSet?: string }> {
  const { release } = run;
  if ('failure' in release) {
    const rows = await builtinRows(run, undefined, undefined);
    return { rows: release.mayPass && isEarly(run) ? rows.map(unsettled) : rows };
  }
  let contents: ReleaseContents;
  try {
    contents = await run.releases.contents(release.found);
  } catch (error) {
    const rows = await builtinRows(run, release.found, undefined);
    const unread = unreadRow('PayloadUnreadable', messageOf(error));
    const waits = isContentTrouble(error) && isEarly(run);
    return { rows: [...rows, waits ? { ...unread, result: 'Running' } : unread] };
  }
  const { payload } = contents;
  const checks = await releaseRows(run, release.found, payload);
  const isEnding = checks.every((row) => row.result !== 'Running');
  const rows = await run.builtin.of(run, isEnding, () => builtinRows(run, release.found, contents));
  return {
    rows: [...rows, ...checks],
    checkSet: checkSetOf(payload, release.found.bundle.document),
  };
}

/** Milliseconds in which registries may still take up media that were attached a moment ago. */
const contentGraceMs = 20_000;

function isEarly({ now, startedAt }: Run): boolean {
  return now - startedAt < contentGraceMs;
}

/** Whether content that could not be read may be there a moment later; a signature that is wrong stays wrong. */
export function isContentTrouble(error: unknown): boolean {
  return isSluiceError(error, 'NotFound', 'ContentMissing', 'Unreachable', 'Stalled', 'Timeout', 'MediaLost');
}

/** An error of a release that may still appear is not known yet. */
function unsettled(row: Row): Row {
  return row.name === 'ReleaseSignature' && row.result === 'Error' ? { ...row, result: 'Running' } : row;
}

async function builtinRows(
  run: Run,
  release: Release | undefined,
  contents: ReleaseContents | undefined,
): Promise<Row[]> {
  const target =
    release === undefined
      ? unverifiedFact('failure' in run.release ? run.release.failure : undefined)
      : targetFact(release, contents);
  const facts = await gatherFacts(run.client, run.clusterVersion, {
    purpose: 'preflight',
    now: run.now,
    target,
    preflight: known(undefined),
  });
  return evaluateGates(facts).map(builtinRow);
}

async function releaseRows(run: Run, release: Release, payload: Payload): Promise<Row[]> {
  const found = releaseChecks(payload, release.bundle.document);
  const objects = await readRun(run.client, run.context.namespace, run.context.runID);
  const rows: Row[] = coverageRows(found);
  const slots: Slots = { free: parallelMax };
  const waiting: ReleaseCheck[] = [];
  // Those that have ended meanwhile are read side by side: each of them holds a slot until then.
  const standings = await Promise.all(found.checks.map((check) => standing(run, release, check, objects)));
  for (const [index, check] of found.checks.entries()) {
    const stands = standings[index];
    if (stands === undefined) waiting.push(check);
    else rows.push(...stands);
    if (stands?.some((row) => row.result === 'Running') === true) slots.free -= 1;
  }
  for (const check of waiting) rows.push(...(await nextCheck(run, release, check, slots)));
  return rows;
}

/** Checks of one run that run at once: a cluster about to be updated has other work too. */
const parallelMax = 10;

interface Slots {
  free: number;
}

/** A check that has not begun: it begins where there is room, else it waits for its turn. */
async function nextCheck(run: Run, release: Release, check: ReleaseCheck, slots: Slots): Promise<Row[]> {
  const job = `${run.context.namespace}/${jobName(check.check, run.context.runID)}`;
  const waits = (result: 'Running' | 'Error', reason: string, message: string) =>
    checkRows(check, { result, reason, message, risks: [] }, job);
  if (run.now > run.deadline) {
    return waits('Error', 'DeadlineExceeded', 'the time of the run was over before it was its turn');
  }
  if (slots.free <= 0) return waits('Running', queued, `waits for its turn: ${parallelMax} run at once`);
  const rows = await startCheck(run, release, check, job);
  if (rows.some((row) => row.result === 'Running')) slots.free -= 1;
  return rows;
}

/** The reason of a check that waits for its turn. */
const queued = 'Queued';

/** The rows of a check that has begun; undefined where it has not. */
async function standing(
  run: Run,
  release: Release,
  check: ReleaseCheck,
  objects: RunObjects,
): Promise<Row[] | undefined> {
  const { namespace, runID } = run.context;
  const name = jobName(check.check, runID);
  const job = `${namespace}/${name}`;
  const before = (run.object.status?.checks ?? []).filter(
    (row) => row.component === check.component && row.job === job && row.reason !== queued,
  );
  // What is decided stays decided: its Job may be gone by now.
  if (before.length > 0 && before.every((row) => row.result !== 'Running')) return before;
  const jobWasSeen = before.length > 0;
  if (!objects.jobs.has(name) && !jobWasSeen) return undefined;
  const outcome = checkOutcome(
    await observeCheck(run.client, objects, {
      jobName: name,
      identity: { runID, check: check.check, targetDigest: release.digest },
      now: run.now,
      deadline: run.deadline,
      jobWasSeen,
    }),
  );
  return checkRows(check, outcome, job);
}

async function startCheck(run: Run, release: Release, check: ReleaseCheck, job: string): Promise<Row[]> {
  const { os } = release.bundle.document;
  const context: RunContext = {
    ...run.context,
    target: {
      version: release.version,
      digest: release.digest,
      image: release.image,
      ...(os?.kernel === undefined ? {} : { kernel: os.kernel }),
      ...(os?.version === undefined ? {} : { osVersion: os.version }),
    },
  };
  const ended = (reason: string, message: string) =>
    checkRows(check, { result: 'Error', reason, message, risks: [] }, job);
  let rendered: ReturnType<typeof renderJob>;
  let reads: ReturnType<typeof parseExtraReads>;
  try {
    reads = parseExtraReads(check.manifest.metadata.annotations?.[annotations.preflightReads]);
    rendered = renderJob(check.manifest, check.check, context);
  } catch (error) {
    return ended('ManifestRefused', messageOf(error));
  }
  const grants = grantsFor(reads, { ...run.context, check: check.check });
  const refusal = await createJob(run.client, rendered, grants);
  if (refusal !== undefined) return ended('JobRefused', refusal);
  return checkRows(
    check,
    { result: 'Running', reason: 'Created', message: 'its Job is created', risks: [] },
    job,
  );
}
