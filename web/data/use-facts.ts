import { useMemo } from 'react';
import type { KubeObject } from '../../src/api/core.ts';
import type { Facts } from './facts.ts';
import { useConsole, useKind } from './hooks.ts';
import type { Snapshot } from './kind-store.ts';

/** The kinds that facts are made of. */
type FactKind =
  | 'ClusterVersion'
  | 'InternalReleaseImage'
  | 'ClusterOperator'
  | 'Node'
  | 'NodeUpdate'
  | 'UpdatePreflight'
  | 'FleetLockGroup';

/** The facts that most pages are drawn from, and the snapshots that they come from, for `Known`. */
export function useFacts(): {
  readonly facts: Facts;
  readonly of: Readonly<Record<FactKind, Snapshot<KubeObject>>>;
} {
  const { names } = useConsole().cluster;
  const ClusterVersion = useKind('ClusterVersion');
  const InternalReleaseImage = useKind('InternalReleaseImage');
  const ClusterOperator = useKind('ClusterOperator');
  const Node = useKind('Node');
  const NodeUpdate = useKind('NodeUpdate');
  const UpdatePreflight = useKind('UpdatePreflight');
  const FleetLockGroup = useKind('FleetLockGroup');
  const facts = useMemo(
    (): Facts => ({
      version: ClusterVersion.items.find(({ metadata }) => metadata.name === names.clusterVersion),
      images: InternalReleaseImage.items.find(({ metadata }) => metadata.name === names.internalReleaseImage),
      operators: ClusterOperator.items,
      nodes: Node.items,
      updates: NodeUpdate.items,
      preflights: UpdatePreflight.items,
      locks: FleetLockGroup.items,
    }),
    [
      ClusterVersion,
      InternalReleaseImage,
      ClusterOperator,
      Node,
      NodeUpdate,
      UpdatePreflight,
      FleetLockGroup,
      names,
    ],
  );
  return {
    facts,
    of: {
      ClusterVersion,
      InternalReleaseImage,
      ClusterOperator,
      Node,
      NodeUpdate,
      UpdatePreflight,
      FleetLockGroup,
    },
  };
}
