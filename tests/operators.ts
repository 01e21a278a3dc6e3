import { digestPart } from '../src/gates/gather.ts';
import type { KubeClient } from '../src/kube/client.ts';
import { systemClock } from '../src/observe/clock.ts';

/**
 * Plays, until the signal aborts, what runs below a payload: Deployments roll out, payload Jobs complete, and each
 * operator reports the version that its Deployment was given in `OPERATOR_VERSION`, once that is rolled out.
 */
export function playOperators(client: KubeClient, signal: AbortSignal): Promise<void> {
  const play = async () => {
    while (!signal.aborted) {
      await playOnce(client).catch(() => {});
      await systemClock.sleep(50, signal);
    }
  };
  return play();
}

async function playOnce(client: KubeClient): Promise<void> {
  const { kinds } = client;
  // A real cluster has controllers of its own: there only the kubelet and the operators are played.
  if (process.env.SLUICE_TEST_ENGINE === 'real') return await playKubelet(client);
  for (const deployment of (await client.list(kinds.Deployment)).items) {
    const { generation = 1 } = deployment.metadata;
    if (deployment.status?.observedGeneration === generation) continue;
    const replicas = deployment.spec.replicas ?? 1;
    await client.updateStatus(kinds.Deployment, {
      ...deployment,
      status: {
        observedGeneration: generation,
        replicas,
        updatedReplicas: replicas,
        readyReplicas: replicas,
        availableReplicas: replicas,
      },
    });
    await reportVersion(client, deployment.metadata.name, versionOf(deployment));
  }
  for (const job of (await client.list(kinds.Job)).items) {
    if (job.metadata.namespace !== 'openshift-demo' || job.status?.succeeded === 1) continue;
    const now = new Date().toISOString();
    const condition = { status: 'True', lastProbeTime: now, lastTransitionTime: now } as const;
    await client.updateStatus(kinds.Job, {
      ...job,
      status: {
        startTime: now,
        completionTime: now,
        succeeded: 1,
        conditions: [
          { ...condition, type: 'SuccessCriteriaMet' },
          { ...condition, type: 'Complete' },
        ],
      },
    });
  }
}

async function playKubelet(client: KubeClient): Promise<void> {
  const { kinds } = client;
  for (const pod of (await client.list(kinds.Pod, { namespace: 'openshift-demo' })).items) {
    if (pod.status?.phase !== 'Pending' || pod.metadata.deletionTimestamp !== undefined) continue;
    const { name, namespace = '', ownerReferences = [] } = pod.metadata;
    if (pod.spec.nodeName === undefined) {
      const target = { kind: 'Node', name: 'master-0' };
      await client.raw({
        method: 'POST',
        path: `/api/v1/namespaces/${namespace}/pods/${name}/binding`,
        body: { metadata: { name }, target },
      });
    }
    const isOfJob = ownerReferences.some(({ kind }) => kind === 'Job');
    const status = isOfJob
      ? { phase: 'Succeeded' }
      : { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    await client.patch(kinds.Pod, name, { status }, { namespace, subresource: 'status' });
  }
  for (const deployment of (await client.list(kinds.Deployment)).items) {
    const { generation, name } = deployment.metadata;
    const { observedGeneration, updatedReplicas, availableReplicas } = deployment.status ?? {};
    const replicas = deployment.spec.replicas ?? 1;
    if (observedGeneration !== generation || updatedReplicas !== replicas) continue;
    if (availableReplicas === replicas) await reportVersion(client, name, versionOf(deployment));
  }
}

function versionOf(deployment: {
  spec: { template: { spec: { containers: { env?: { name: string; value?: string }[] }[] } } };
}) {
  const env = deployment.spec.template.spec.containers[0]?.env ?? [];
  return env.find((each) => each.name === 'OPERATOR_VERSION')?.value ?? '';
}

async function reportVersion(client: KubeClient, name: string, version: string): Promise<void> {
  const kind = client.kinds.ClusterOperator;
  const operator = await client.tryGet(kind, name);
  if (operator === undefined || operator.status?.versions?.[0]?.version === version) return;
  const at = new Date().toISOString();
  await client.updateStatus(kind, {
    ...operator,
    status: {
      versions: [{ name: 'operator', version }],
      conditions: [
        { type: 'Available', status: 'True', lastTransitionTime: at },
        { type: 'Progressing', status: 'False', lastTransitionTime: at },
        { type: 'Degraded', status: 'False', lastTransitionTime: at },
      ],
    },
  });
}

/**
 * Plays the agents of the nodes: each stages the OS image that it is told, held, and boots it once `mayReboot` says
 * so of its name.
 */
export function playNodes(
  client: KubeClient,
  mayReboot: (node: string) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const play = async () => {
    while (!signal.aborted) {
      for (const update of (await client.list(client.kinds.NodeUpdate).catch(() => ({ items: [] }))).items) {
        const wanted = update.spec.osImage;
        const { name } = update.metadata;
        const status = update.status ?? {};
        if (wanted === undefined || status.booted?.image === wanted) continue;
        const { holds: _, staged: __, ...rest } = status;
        const hold = {
          gate: 'marker_file',
          reason: 'MarkerMissing',
          message: 'no marker file',
          since: '2026-01-01T00:00:00Z',
        };
        const isFirst = status.booted === undefined;
        const next =
          isFirst || mayReboot(name)
            ? {
                ...rest,
                state: 'Idle',
                bootID: `boot-of-${name}-${digestPart(wanted).slice(-8)}`,
                strategies: ['fleet_lock'],
                booted: { image: wanted },
              }
            : { ...rest, state: 'Held', staged: { image: wanted }, holds: [hold] };
        await client.updateStatus(client.kinds.NodeUpdate, { ...update, status: next }).catch(() => {});
      }
      await systemClock.sleep(50, signal);
    }
  };
  return play();
}
