/**
 * The one precedence of reasons for Degraded, first wins. A release's own
 * trouble comes after what concerns the whole cluster, since it may only follow from that.
 */
export const degradedPrecedence = [
  'SyncError',
  'NoControlPlaneNodes',
  'ApiIntNotAvailable',
  'SomeNodesUnavailable',
  'SomeRegistriesUnavailable',
  'SomeReleasesDegraded',
  'ReleaseImageNotAvailable',
] as const;

export type DegradedReason = (typeof degradedPrecedence)[number];

/** What is wrong with the whole, by reason, in words. */
export type Troubles = ReadonlyMap<DegradedReason, string>;
