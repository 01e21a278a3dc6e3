import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnyObject, Pod } from '../api/core.ts';
import type { KubeClient } from '../kube/client.ts';
import { ApiError } from '../kube/error.ts';
import { applyPass } from './apply.ts';
import { podTrouble, troubleOf } from './pods.ts';
import { WaitTimes } from './wait.ts';
import type { Block } from './walk.ts';

const born = '2026-01-01T12:00:00Z';
const at = Date.parse(born);

function pod(container: object, more: object = {}, creationTimestamp = born): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'x-1', namespace: 'n', creationTimestamp },
    status: {
      containerStatuses: [{ name: 'web', ready: false, restartCount: 0, ...container }],
      ...more,
    },
  } as unknown as Pod;
}
const waiting = (reason: string, message?: string) => ({ state: { waiting: { reason, message } } });

for (const [name, given, expected] of [
  ['a Pod on its way', pod(waiting('ContainerCreating')), undefined],
  ['a Pod that runs and is not ready yet', pod({ state: { running: {} } }), undefined],
  [
    'a name that is none',
    pod(waiting('InvalidImageName', 'invalid reference format')),
    /^Pod x-1, container web: InvalidImageName: invalid reference format$/,
  ],
  [
    'a pull that fails, in bounded words on one line',
    pod(waiting('ImagePullBackOff', `Back-off\n${'x'.repeat(5000)}`)),
    /^Pod x-1, container web: ImagePullBackOff: Back-off x{200,300}…$/,
  ],
  [
    'one that ends in vain',
    pod({
      ...waiting('CrashLoopBackOff', 'back-off 10s'),
      restartCount: 3,
      lastState: { terminated: { exitCode: 7, reason: 'Error' } },
    }),
    /CrashLoopBackOff: started again 3 times, ended with exit code 7 \(Error\)$/,
  ],
  [
    'the same while it is tried once more',
    pod({ state: { running: {} }, restartCount: 3, lastState: { terminated: { exitCode: 7 } } }),
    /CrashLoopBackOff: started again 3 times, ended with exit code 7$/,
  ],
] as const) {
  test(`the trouble of a workload is that of its Pods: ${name}`, () => {
    const trouble = troubleOf([given]);
    if (expected === undefined) return assert.equal(trouble, undefined);
    assert.match(trouble?.message ?? '', expected);
    assert.deepEqual([trouble?.failing, trouble?.since], ['WorkloadNotProgressing', at]);
  });
}

test('a Pod that no node takes is told, and is no failure; the newest Pod speaks, one that goes does not', () => {
  const unplaced = { conditions: [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes' }] };
  const late = pod({}, unplaced, '2026-01-01T13:00:00Z');
  const going = pod(waiting('InvalidImageName'), {}, '2026-01-01T14:00:00Z');
  const found = troubleOf([
    pod(waiting('ErrImagePull')),
    late,
    { ...going, metadata: { ...going.metadata, deletionTimestamp: born } },
  ]);
  assert.equal(found?.message, 'Pod x-1: Unschedulable: 0/3 nodes');
  assert.equal(found?.failing, undefined);
});

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'x', namespace: 'n', generation: 1, resourceVersion: '1', uid: 'u' },
  spec: { replicas: 1, selector: { matchLabels: { app: 'x', tier: 'y' } } },
  status: { observedGeneration: 1, updatedReplicas: 1, availableReplicas: 0, replicas: 1 },
};

/** An API that holds the Deployment as it is, and answers with these Pods. */
function client(pods: () => readonly Pod[], asked: object[] = []): KubeClient {
  return {
    kinds: { Pod: { kind: 'Pod' } },
    resolveKind: async () => ({ kind: 'Deployment', plural: 'deployments', group: 'apps', version: 'v1' }),
    tryGet: async () => undefined,
    create: async () => deployment,
    list: async (_: unknown, options: object) => {
      asked.push(options);
      return { items: pods() };
    },
  } as unknown as KubeClient;
}
const walk = [
  [
    [
      {
        id: 'x',
        manifest: { file: 'x', index: 0, object: deployment as unknown as AnyObject },
        inclusion: { act: 'apply', createOnly: false },
      },
    ],
  ],
] as unknown as Block[];

test('a walk tells why a Deployment does not come up at once, and fails by it after a minute', async () => {
  const asked: object[] = [];
  const api = client(() => [pod(waiting('InvalidImageName', 'no reference'))], asked);
  const notes = { noted: new Set<string>(), times: new WaitTimes() };
  const signal = new AbortController().signal;
  const pass = async (now: number) => {
    const { waiting: found } = await applyPass(api, walk, notes, { signal, now, workers: 1 });
    return found[0];
  };
  const first = await pass(at + 5_000);
  assert.equal(
    first?.message,
    'Deployment n/x (1 of 1 updated, 0 available): Pod x-1, container web: InvalidImageName: no reference',
  );
  assert.equal(first?.failing, undefined);
  assert.equal((await pass(at + 61_000))?.failing, 'WorkloadNotProgressing');
  assert.deepEqual(asked[0], { namespace: 'n', labelSelector: 'app=x,tier=y' });
});

test('Pods that cannot be read leave the count of the workload; a workload without labels asks for none', async () => {
  const refused = Object.assign(Object.create(ApiError.prototype), { status: 403 });
  const api = client(() => {
    throw refused;
  });
  const notes = { noted: new Set<string>(), times: new WaitTimes() };
  const { waiting: found } = await applyPass(api, walk, notes, {
    signal: new AbortController().signal,
    now: at,
    workers: 1,
  });
  assert.equal(found[0]?.message, 'Deployment n/x (1 of 1 updated, 0 available)');
  assert.equal(await podTrouble(api, { ...deployment, spec: {} } as unknown as AnyObject), undefined);
});
