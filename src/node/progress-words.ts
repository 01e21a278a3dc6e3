import type { Condition } from '../api/core.ts';
import { humanBytes } from '../observe/bytes.ts';
import type { ContentNodeStatus } from './status.ts';

/** What a NodeUpdate says, without how far copies are; that one verifies now is one more step on its way. */
export function withoutProgress(status: ContentNodeStatus): unknown {
  const copies = status.copies.map(({ release, state, reason, message, bytesTotal }) => {
    return { release, state: state === 'Verifying' ? 'Copying' : state, reason, message, bytesTotal };
  });
  return { ...status, copies };
}

/** What a person sees of a NodeUpdate: numbers as they are shown, and not the last byte of them. */
export function asSeen(status: ContentNodeStatus): unknown {
  const copies = status.copies.map(({ secondsLeft: _follows, bytesDone, bytesTotal, rate, ...rest }) => ({
    ...rest,
    bytesTotal,
    bytesDone: humanBytes(bytesDone ?? 0),
    percent: Math.floor(((bytesDone ?? 0) / Math.max(1, bytesTotal ?? 0)) * 100),
    rate: rate === undefined ? undefined : humanBytes(rate),
  }));
  return { ...status, copies };
}

/** What a MachineConfigNode says, without the words on how far copies are: any other message is news. */
export function withoutMessages(after: {
  readonly conditions: readonly Condition[];
  readonly internalReleaseImage: {
    readonly releases: readonly { readonly conditions?: readonly Condition[] }[];
  } | null;
}): unknown {
  const releases = after.internalReleaseImage?.releases.map((each) => ({
    ...each,
    conditions: each.conditions?.map((one) =>
      one.type === 'Installing' && one.reason === 'Copying' ? { ...one, message: '' } : one,
    ),
  }));
  return { conditions: after.conditions, releases };
}
