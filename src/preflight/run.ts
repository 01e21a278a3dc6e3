import type { UpdatePreflight, UpdatePreflightStatus } from '../api/resources.ts';
import { parseDuration } from '../gates/duration.ts';
import { isRunID, runAnnotations } from '../gates/run-request.ts';

export const timeoutMsDefault = 30 * 60_000;
/** Milliseconds between the end of a run and the next that comes by itself, whatever spec says. */
const frequencyMsMin = 60_000;
/** Milliseconds between two looks at a release that could not be verified. */
const unverifiedRetryMs = 30_000;

export interface RunFacts {
  readonly now: number;
  /** Digest of the payload that spec names; undefined while it cannot be verified. */
  readonly target: string | undefined;
  /** Digest of the payload that the cluster runs. */
  readonly source: string;
}

export type RunDecision =
  /** A run is in flight: look at its Jobs. */
  | { readonly act: 'advance' }
  | { readonly act: 'start'; readonly runID: string | undefined }
  | { readonly act: 'supersede'; readonly reason: string; readonly message: string }
  /** The report stands; judge it anew by what is accepted now. */
  | { readonly act: 'judge' }
  | { readonly act: 'rest'; readonly requeueAfterMs: number | undefined };

/** What a preflight does next. Everything it decides by is in the object itself, so that a restart decides alike. */
export function decideRun(object: UpdatePreflight, facts: RunFacts): RunDecision {
  const { status } = object;
  if (status?.runID === undefined || status.verdict === undefined) {
    return { act: 'start', runID: requestedRun(object) };
  }
  if (status.verdict === 'Running') return inFlight(object, status, facts);
  const requested = requestedRun(object);
  if (requested !== undefined) return { act: 'start', runID: requested };
  if (facts.target !== undefined && status.target?.digest !== facts.target) {
    return { act: 'start', runID: undefined };
  }
  const due = nextRunAt(object);
  if (due !== undefined && facts.now >= due) return { act: 'start', runID: undefined };
  if (status.source?.digest !== facts.source && status.verdict !== 'Superseded') {
    return { act: 'supersede', reason: 'SourceChanged', message: 'the cluster runs another release since' };
  }
  if (status.observedGeneration !== object.metadata.generation && status.verdict !== 'Superseded') {
    return { act: 'judge' };
  }
  const wait = due === undefined ? undefined : Math.max(1000, due - facts.now);
  return { act: 'rest', requeueAfterMs: facts.target === undefined ? unverifiedRetryMs : wait };
}

function inFlight(object: UpdatePreflight, status: UpdatePreflightStatus, facts: RunFacts): RunDecision {
  if (object.metadata.annotations?.[runAnnotations.cancel] === status.runID) {
    return { act: 'supersede', reason: 'Cancelled', message: 'another release was asked for meanwhile' };
  }
  if (
    facts.target !== undefined &&
    status.target?.digest !== undefined &&
    status.target.digest !== facts.target
  ) {
    return { act: 'supersede', reason: 'TargetChanged', message: 'spec names another release since' };
  }
  if (status.source?.digest !== facts.source) {
    return { act: 'supersede', reason: 'SourceChanged', message: 'the cluster runs another release since' };
  }
  return { act: 'advance' };
}

/** The run that is asked for and has not been; a request that is no run id is as good as none. */
function requestedRun({ metadata, status }: UpdatePreflight): string | undefined {
  const wanted = metadata.annotations?.[runAnnotations.request];
  if (wanted === undefined || !isRunID(wanted) || wanted === status?.runID) return undefined;
  return status?.history?.some((run) => run.runID === wanted) === true ? undefined : wanted;
}

/** When it runs again by itself, in milliseconds since the epoch. */
export function nextRunAt({ spec, status }: UpdatePreflight): number | undefined {
  if (spec.frequency === undefined || status?.finishedAt === undefined) return undefined;
  return Date.parse(status.finishedAt) + Math.max(frequencyMsMin, parseDuration(spec.frequency));
}

export function timeoutMsOf({ spec }: UpdatePreflight): number {
  return spec.timeout === undefined ? timeoutMsDefault : parseDuration(spec.timeout);
}

/** Runs before that a status keeps. */
const historyMax = 10;
/** Findings of such a run that are kept; where there were more, none, since a part would pass for all. */
const findingsMax = 10;

/** The history with the run that stands in the status put on top of it. */
export function withHistory(
  status: UpdatePreflightStatus | undefined,
): NonNullable<UpdatePreflightStatus['history']> {
  const before = status?.history ?? [];
  if (status?.runID === undefined || status.verdict === undefined) return before;
  if (before.some((run) => run.runID === status.runID)) return before;
  const findings = (status.checks ?? [])
    .filter(({ result }) => result === 'Risk' || result === 'Error')
    .map(({ name, result }) => ({ name, result }));
  const entry = {
    runID: status.runID,
    verdict: status.verdict,
    ...(status.target?.digest === undefined ? {} : { digest: status.target.digest }),
    ...(status.finishedAt === undefined ? {} : { finishedAt: status.finishedAt }),
    ...(findings.length > findingsMax ? {} : { findings }),
  };
  return [entry, ...before].slice(0, historyMax);
}
