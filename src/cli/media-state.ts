import type { NodeUpdateStatusCopy, NodeUpdateStatusMedia } from '../api/resources.ts';

/**
 * What stands of a medium in a table. The signature holds whatever becomes of the content, which is hashed when it is
 * read: that a copy at the same node has ended by it stands beside it.
 */
export function mediaState(
  medium: NodeUpdateStatusMedia,
  copies: readonly NodeUpdateStatusCopy[] = [],
): string {
  if (medium.verified !== true) return medium.reason ?? 'Refused';
  const failed = copies.find((copy) => copy.release === medium.name && copy.state === 'Failed');
  return failed === undefined
    ? 'SignatureVerified'
    : `SignatureVerified, copy failed: ${failed.reason ?? 'Unknown'}`;
}
