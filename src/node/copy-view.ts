import type { CopyProgress } from '../copy/meter.ts';
import type { ErrorCode } from '../errors/error.ts';
import type { Digest } from '../oci/digest.ts';
import type { SourceChoice } from './copy-source.ts';

/** A release that is being copied to this node, or that should be and cannot. */
export interface CopyView {
  readonly release: string;
  readonly bundleDigest: Digest | undefined;
  readonly state: 'Copying' | 'Verifying' | 'Paused' | 'Failed';
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly progress: CopyProgress | undefined;
  /** Bytes a second. */
  readonly rate: number | undefined;
  /** It needs a person, or has not gone on by itself for a while. */
  readonly degraded: boolean;
}

/** Seconds until it is done, at the rate of the last while; undefined where nothing moves. */
export function secondsLeftOf({ rate, progress }: CopyView): number | undefined {
  if (rate === undefined || rate <= 0 || progress === undefined) return undefined;
  return Math.ceil((progress.bytesTotal - progress.bytesDone) / rate);
}

/** Failures in a row from which on a copy that may go on by itself counts as degraded. */
const degradedAfter = 3;
/** What a person must mend, from the first time on. */
const needsPerson: readonly ErrorCode[] = ['MediaLost', 'DiskFull'];

/** Whether a copy that stopped must be shown as trouble. @param count how often in a row it stopped there. */
export function isDegraded(stopped: { code: ErrorCode; content: boolean }, count: number): boolean {
  return stopped.content || needsPerson.includes(stopped.code) || count >= degradedAfter;
}

const contentCodes: readonly ErrorCode[] = [
  'DigestMismatch',
  'ContentMissing',
  'SignatureMissing',
  'SignatureUntrusted',
  'InputInvalid',
  'InputTooLarge',
  'Conflict',
];

/** Whether the content itself is wrong, and not the way to it. */
export function isContentCode(code: ErrorCode): boolean {
  return contentCodes.includes(code);
}

export function idleView(release: string): CopyView {
  return {
    release,
    bundleDigest: undefined,
    state: 'Copying',
    reason: undefined,
    message: undefined,
    progress: undefined,
    rate: undefined,
    degraded: false,
  };
}

/** What is said of a copy that does not run: why, with the progress that it had. */
export function waitingView(view: CopyView, choice: SourceChoice): CopyView {
  switch (choice.choice) {
    case 'Ready':
      return {
        ...view,
        state: 'Paused',
        reason: 'Queued',
        message: 'waits for another copy to end',
        rate: undefined,
      };
    case 'Later':
      return view.reason === undefined
        ? {
            ...view,
            state: 'Paused',
            reason: choice.failure.code,
            message: choice.failure.message,
            rate: undefined,
          }
        : view;
    case 'Lost':
      return {
        ...view,
        state: 'Paused',
        reason: 'MediaLost',
        message: choice.message,
        rate: undefined,
        degraded: true,
      };
    case 'Conflict':
      return {
        ...view,
        state: 'Failed',
        reason: 'BundleConflict',
        message: choice.message,
        rate: undefined,
        degraded: true,
      };
    case 'None':
      // It had begun, and now nothing carries it any more: that is media that went with their node.
      return {
        ...view,
        state: view.state === 'Failed' ? 'Failed' : 'Paused',
        reason: view.reason ?? 'MediaLost',
        message: view.message ?? 'no attached media and no node carry it any more: attach them again',
        rate: undefined,
        degraded: true,
      };
  }
}

/** A person has paused it: no trouble, and it says how to go on. */
export function pausedView(view: CopyView): CopyView {
  return {
    ...view,
    state: 'Paused',
    reason: 'PausedByRequest',
    message: `paused on request; it goes on with: sluice release resume ${view.release}`,
    rate: undefined,
    degraded: false,
  };
}

/** It reads or hashes now, as far as anybody has been told. */
export function isMoving({ state }: CopyView): boolean {
  return state === 'Copying' || state === 'Verifying';
}

/** A copy that has not planned yet has nothing to show. */
export function isShown(view: CopyView): boolean {
  return view.progress !== undefined || view.reason !== undefined;
}
