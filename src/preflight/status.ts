import type { UpdatePreflight, UpdatePreflightStatus } from '../api/resources.ts';
import { setCondition } from '../kube/conditions.ts';
import { rfc3339 } from '../observe/clock.ts';
import { acceptedNames, buildReport, type Row } from './report.ts';
import { nextRunAt, withHistory } from './run.ts';

/** The status of a run that begins: its id is written down before anything of it exists. */
export function startedStatus(
  object: UpdatePreflight,
  run: {
    runID: string;
    target: NonNullable<UpdatePreflightStatus['target']>;
    source: NonNullable<UpdatePreflightStatus['source']>;
  },
  now: number,
): UpdatePreflightStatus {
  const { finishedAt: _, nextRun: __, checkSet: ___, ...kept } = object.status ?? {};
  const message = `looking at ${run.target.version ?? run.target.image ?? 'the release'}`;
  const says = { verdict: 'Running', reason: 'Starting', message } as const;
  return {
    ...kept,
    ...observed(object),
    ...run,
    ...says,
    startedAt: rfc3339(now),
    checks: [],
    history: withHistory(object.status),
    conditions: conditionsOf(object, says, now),
  };
}

/** The status with the report that follows from these rows; a run without anything left to wait for ends. */
export function judgedStatus(
  object: UpdatePreflight,
  rows: readonly Row[],
  now: number,
): UpdatePreflightStatus {
  const before = object.status ?? {};
  const report = buildReport(rows, acceptedNames(object.spec), before.checks ?? [], rfc3339(now));
  const ends = before.verdict === 'Running' && report.verdict !== 'Running';
  const next: UpdatePreflightStatus = {
    ...before,
    ...observed(object),
    ...report,
    ...(ends ? { finishedAt: rfc3339(now) } : {}),
  };
  const due = nextRunAt({ ...object, status: next });
  return {
    ...next,
    ...(due === undefined ? {} : { nextRun: rfc3339(due) }),
    conditions: conditionsOf(object, report, now),
  };
}

/** The status of a report that speaks about something else than what is asked now; what it holds is kept. */
export function supersededStatus(
  object: UpdatePreflight,
  why: { readonly reason: string; readonly message: string },
  now: number,
): UpdatePreflightStatus {
  const before = object.status ?? {};
  const says = { verdict: 'Superseded', reason: why.reason, message: why.message } as const;
  return {
    ...before,
    ...observed(object),
    ...says,
    finishedAt: before.finishedAt ?? rfc3339(now),
    conditions: conditionsOf(object, says, now),
  };
}

/** The status of an object that cannot be worked on yet. */
export function waitingStatus(
  object: UpdatePreflight,
  why: { readonly reason: string; readonly message: string },
  now: number,
): UpdatePreflightStatus {
  return { ...object.status, ...why, conditions: conditionsOf(object, { verdict: 'Running', ...why }, now) };
}

function conditionsOf(
  { metadata, status }: UpdatePreflight,
  report: { verdict: string; reason: string; message: string },
  now: number,
): NonNullable<UpdatePreflightStatus['conditions']> {
  const { reason, message } = report;
  const running = report.verdict === 'Running';
  const passed = running ? 'Unknown' : report.verdict === 'Passed' ? 'True' : 'False';
  const generation = metadata.generation === undefined ? {} : { observedGeneration: metadata.generation };
  const progressing = setCondition(
    status?.conditions,
    { type: 'Progressing', status: running ? 'True' : 'False', reason, message, ...generation },
    now,
  );
  return setCondition(progressing, { type: 'Passed', status: passed, reason, message, ...generation }, now);
}

function observed({ metadata }: UpdatePreflight): { observedGeneration?: number } {
  return metadata.generation === undefined ? {} : { observedGeneration: metadata.generation };
}
