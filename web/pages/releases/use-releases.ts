import { useMemo } from 'react';
import type { InternalReleaseImage, NodeUpdate } from '../../../src/api/resources.ts';
import { type ReleaseRow, releaseRows } from '../../../src/cli/release-view.ts';
import { parseInUse } from '../../../src/release/in-use.ts';
import { bundlesOf, type KnownBundle } from '../../../src/release/known.ts';
import { pausedReleases } from '../../../src/release/pause.ts';
import { controlPlaneOf } from '../../data/facts.ts';
import { useConsole, useKind } from '../../data/hooks.ts';

/** A release as its row shows it. */
export interface Release extends ReleaseRow {
  readonly bundle: KnownBundle | undefined;
  /** Whether it should be on every node. */
  readonly asked: boolean;
  readonly paused: boolean;
  /** Whether every control-plane node holds it. */
  readonly everywhere: boolean;
  /** Whether no other one is asked for: the cluster cannot be without any. */
  readonly only: boolean;
}

export interface Releases {
  readonly releases: readonly Release[];
  /** Names of the control-plane nodes. */
  readonly nodes: readonly string[];
  readonly updates: readonly NodeUpdate[];
  readonly object: InternalReleaseImage | undefined;
}

/** Releases and nodes, live. */
export function useReleases() {
  const { names } = useConsole().cluster;
  const InternalReleaseImage = useKind('InternalReleaseImage');
  const NodeUpdate = useKind('NodeUpdate');
  const Node = useKind('Node');
  // Who may not read it is not told what is in use; removing asks the cluster anyway.
  const inUse = useKind('ConfigMap', {
    namespace: names.machineConfigNamespace,
    fieldSelector: `metadata.name=${names.inUse}`,
  });
  const known = useMemo((): Releases => {
    const object = InternalReleaseImage.items.find(
      ({ metadata }) => metadata.name === names.internalReleaseImage,
    );
    const bundles = bundlesOf(NodeUpdate.items);
    const used = parseInUse(inUse.items[0]?.data)?.names ?? new Map<string, string>();
    const asked = new Set(object?.spec.releases.map(({ name }) => name));
    const paused = pausedReleases(object);
    const rows = releaseRows({ object, bundles, inUse: used });
    const nodes = controlPlaneOf(Node.items);
    return {
      releases: rows.reverse().map((row) => {
        const bundle = bundles.find(({ name }) => name === row.name);
        return {
          ...row,
          bundle,
          asked: asked.has(row.name),
          paused: paused.has(row.name),
          everywhere: nodes.length > 0 && nodes.every((node) => bundle?.heldBy.includes(node)),
          only: asked.size === 1 && asked.has(row.name),
        };
      }),
      nodes,
      updates: NodeUpdate.items,
      object,
    };
  }, [InternalReleaseImage, NodeUpdate, Node, inUse, names]);
  return { known, of: { InternalReleaseImage, NodeUpdate, Node } };
}
