import { labels } from '../../src/api/names.ts';
import type { NodeUpdateStatus } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';

/**
 * What the controllers and agents of a cluster say, written as they write it: for pages whose content must not depend
 * on the pace of an update. The whole story, with real controllers, is story.test.ts.
 */
export interface WrittenCluster {
  readonly nodes: readonly string[];
  readonly version?: string;
  /** Beside the control plane's role, which the first three have. */
  readonly agent?: (name: string, index: number) => NodeUpdateStatus;
}

export const digestOf = (character: string) => `sha256:${character.repeat(64)}`;
const imageOf = (digest: string) => `release.example.com/openshift/release-images@${digest}`;
export const someTime = '2026-11-29T22:00:00Z';

const controlPlaneSize = 3;
const writtenAtOnce = 16;

export function steady(version: string): NodeUpdateStatus {
  return {
    agent: '0.1.0',
    driver: 'simulated',
    bootID: '55331249-c1c4-4747-8be0-511ff6cbfdc3',
    state: 'Idle',
    message: `runs ${version}`,
    booted: { version, image: `release.example.com/openshift/release@${digestOf('0')}` },
    strategies: ['marker_file', 'fleet_lock'],
    holds: [],
    media: [],
    copies: [],
    store: [
      {
        name: `ocp-release-bundle-${version}-x86_64`,
        bundleDigest: digestOf('b'),
        version,
        payload: digestOf('a'),
        bytes: 41_300_000_000,
        bytesWritten: 12_000_000_000,
        verifiedAt: someTime,
      },
    ],
    conditions: [
      {
        type: 'Updated',
        status: 'True',
        reason: 'AsDesired',
        message: `runs ${version}`,
        lastTransitionTime: someTime,
      },
      {
        type: 'Held',
        status: 'False',
        reason: 'NothingHolds',
        message: 'nothing holds this node',
        lastTransitionTime: someTime,
      },
      {
        type: 'Degraded',
        status: 'False',
        reason: 'AsExpected',
        message: 'the agent does its work',
        lastTransitionTime: someTime,
      },
    ],
  };
}

/** As `steady`, with another release staged that a closed window holds. */
export function heldByWindow(version: string, staged: string): NodeUpdateStatus {
  const message = 'no marker file allows it (/var/lib/sluice/allowfinalize.json is absent)';
  return {
    ...steady(version),
    state: 'Held',
    message: `${staged} is staged, and held`,
    staged: { version: staged, image: `release.example.com/openshift/release@${digestOf('1')}` },
    holds: [{ gate: 'marker_file', reason: 'MarkerMissing', message, since: someTime }],
  };
}

/** A ClusterVersion, nodes, and what their agents say. */
export async function writeCluster(client: KubeClient, wanted: WrittenCluster): Promise<void> {
  const { kinds } = client;
  const { version = '1.0.0', nodes, agent = () => steady(version) } = wanted;
  const release = { version, image: imageOf(digestOf('a')) };
  const clusterVersion = await client.create(kinds.ClusterVersion, {
    metadata: { name: 'version' },
    spec: { clusterID: 'fc16bbaa-ddfe-4bb3-9542-9877bd78bc1c' },
  });
  await client.updateStatus(kinds.ClusterVersion, {
    ...clusterVersion,
    status: {
      desired: release,
      history: [
        {
          ...release,
          state: 'Completed',
          startedTime: someTime,
          completionTime: '2026-11-29T22:20:00Z',
          verified: true,
        },
      ],
      observedGeneration: 1,
      versionHash: 'x',
      availableUpdates: [],
      conditions: [
        {
          type: 'Progressing',
          status: 'False',
          lastTransitionTime: someTime,
          reason: 'Completed',
          message: `Cluster version is ${version}`,
        },
        { type: 'Failing', status: 'False', lastTransitionTime: someTime, reason: 'AsExpected', message: '' },
      ],
    },
  });
  await client.create(kinds.InternalReleaseImage, {
    metadata: { name: 'cluster' },
    spec: { releases: [{ name: `ocp-release-bundle-${version}-x86_64` }] },
  });
  const queue = nodes.map((name, index) => ({ name, index }));
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      await writeNode(client, next.name, next.index < controlPlaneSize, agent(next.name, next.index));
    }
  };
  await Promise.all(Array.from({ length: writtenAtOnce }, work));
}

async function writeNode(
  client: KubeClient,
  name: string,
  isControlPlane: boolean,
  status: NodeUpdateStatus,
): Promise<void> {
  const { kinds } = client;
  const role = isControlPlane ? labels.controlPlane : 'node-role.kubernetes.io/worker';
  await client.create(kinds.Node, { metadata: { name, labels: { [role]: '' } } });
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', lastTransitionTime: someTime };
  await client.patch(kinds.Node, name, { status: { conditions: [ready] } }, { subresource: 'status' });
  const update = await client.create(kinds.NodeUpdate, { metadata: { name }, spec: {} });
  await client.updateStatus(kinds.NodeUpdate, { ...update, status });
}
