import type { ClusterFacts } from '../src/gates/cluster-facts.ts';
import { known } from '../src/gates/known.ts';

/** A cluster in which nothing stands out. */
export const quietCluster: ClusterFacts = {
  disruptionBudgets: known([]),
  storage: known([{ node: 'master-0', diskPressure: false }]),
  deprecatedUse: undefined,
  definitions: known([]),
  certificates: undefined,
  clocks: undefined,
  pools: undefined,
  signingRequests: known([]),
  webhooks: undefined,
  etcdTroubles: undefined,
  etcdBackup: undefined,
  olm: undefined,
};
