import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnyObject } from '../api/core.ts';
import { readinessOf } from './ready.ts';

function object(apiVersion: string, kind: string, fields: object): AnyObject {
  return { apiVersion, kind, metadata: { name: 'x', namespace: 'n', generation: 2 }, ...fields } as AnyObject;
}

const deployment = (status: object) => object('apps/v1', 'Deployment', { spec: { replicas: 2 }, status });
const operator = (versions: object[], conditions: object[]) =>
  object('config.openshift.io/v1', 'ClusterOperator', { status: { versions, conditions } });
const wanted = operator([{ name: 'operator', version: '1.1.0' }], []);
const well = [
  { type: 'Available', status: 'True' },
  { type: 'Degraded', status: 'False' },
];

for (const [name, live, manifest, expected] of [
  ['a ConfigMap stands as soon as it is applied', object('v1', 'ConfigMap', {}), undefined, 'ready'],
  [
    'a definition that is not established',
    object('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {}),
    undefined,
    'not established',
  ],
  [
    'an established definition',
    object('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {
      status: { conditions: [{ type: 'Established', status: 'True' }] },
    }),
    undefined,
    'ready',
  ],
  [
    'a Deployment whose controller has not seen it',
    deployment({ observedGeneration: 1, updatedReplicas: 2, availableReplicas: 2, replicas: 2 }),
    undefined,
    '0 of 2 updated',
  ],
  [
    'a Deployment with old pods left',
    deployment({ observedGeneration: 2, updatedReplicas: 2, availableReplicas: 2, replicas: 3 }),
    undefined,
    '2 of 2 updated',
  ],
  [
    'a Deployment that is rolled out',
    deployment({ observedGeneration: 2, updatedReplicas: 2, availableReplicas: 2, replicas: 2 }),
    undefined,
    'ready',
  ],
  [
    'a Deployment whose Pods are refused',
    deployment({
      observedGeneration: 2,
      conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'quota' }],
    }),
    undefined,
    '0 available): FailedCreate: quota',
  ],
  [
    'a Deployment that gave up',
    deployment({
      observedGeneration: 2,
      conditions: [{ type: 'Progressing', status: 'False', message: 'deadline' }],
    }),
    undefined,
    'WorkloadNotProgressing',
  ],
  ['a Job on its way', object('batch/v1', 'Job', {}), undefined, 'to complete'],
  [
    'a Job that failed',
    object('batch/v1', 'Job', {
      status: { conditions: [{ type: 'Failed', status: 'True', message: 'backoff' }] },
    }),
    undefined,
    'UpdatePayloadFailed',
  ],
  [
    'an operator at the old version',
    operator([{ name: 'operator', version: '1.0.0' }], well),
    wanted,
    'reports 1.0.0',
  ],
  ['an operator that reports nothing', operator([], []), wanted, 'reports none'],
  [
    'an operator that is not available',
    operator([{ name: 'operator', version: '1.1.0' }], [{ type: 'Available', status: 'False' }]),
    wanted,
    'ClusterOperatorNotAvailable',
  ],
  [
    'an operator that never said whether it is degraded',
    operator([{ name: 'operator', version: '1.1.0' }], [{ type: 'Available', status: 'True' }]),
    wanted,
    'not reported',
  ],
  [
    'a degraded operator',
    operator(
      [{ name: 'operator', version: '1.1.0' }],
      [
        { type: 'Available', status: 'True' },
        { type: 'Degraded', status: 'True' },
      ],
    ),
    wanted,
    'ClusterOperatorDegraded',
  ],
  ['an operator that has arrived', operator([{ name: 'operator', version: '1.1.0' }], well), wanted, 'ready'],
] as const) {
  test(name, () => {
    const readiness = readinessOf(live, manifest ?? live);
    const told = readiness.ready ? 'ready' : `${readiness.message} ${readiness.failing ?? ''}`;
    assert.ok(told.includes(expected), told);
  });
}
