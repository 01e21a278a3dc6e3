import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnyObject } from '../api/core.ts';
import type { KubeClient } from '../kube/client.ts';
import { createApiInt, hostIn } from './api-int.ts';

const infrastructure = (apiServerInternalURI?: unknown) =>
  ({
    apiVersion: 'config.openshift.io/v1',
    kind: 'Infrastructure',
    metadata: { name: 'cluster' },
    status: { apiServerInternalURI },
  }) as unknown as AnyObject;

for (const [uri, host] of [
  ['https://api-int.ocp.example.com:6443', 'api-int.ocp.example.com'],
  ['https://api-int.ocp.example.com', 'api-int.ocp.example.com'],
  ['https://[fd00::1]:6443', undefined],
  ['https://localhost:6443', undefined],
  ['api-int.ocp.example.com', undefined],
  ['', undefined],
  [undefined, undefined],
  [7, undefined],
] as const) {
  test(`K4 the host in ${JSON.stringify(uri)} is ${host}`, () => {
    assert.equal(hostIn(infrastructure(uri)), host);
  });
}

test('an OpenShift without an Infrastructure object names nothing', () => {
  assert.equal(hostIn(undefined), undefined);
});

/** Only what is asked here. */
function clientOf(platform: KubeClient['platform'], answers: (AnyObject | undefined)[]) {
  let asked = 0;
  const client = {
    platform,
    resolveKind: async () => ({ kind: 'Infrastructure' }),
    tryGet: async () => {
      asked += 1;
      return answers.shift();
    },
  } as unknown as KubeClient;
  return { client, asked: () => asked };
}

test('on OpenShift it is asked until it is told, then no more', async () => {
  const { client, asked } = clientOf('openshift', [
    undefined,
    infrastructure('https://api-int.a.example:6443'),
    infrastructure('https://api-int.b.example:6443'),
  ]);
  const apiInt = createApiInt(client);
  assert.equal(await apiInt.host(), undefined);
  assert.equal(await apiInt.host(), 'api-int.a.example');
  assert.equal(await apiInt.host(), 'api-int.a.example');
  assert.equal(asked(), 2);
});

test('elsewhere it is ours, and nobody is asked', async () => {
  const { client, asked } = clientOf('kubernetes', []);
  assert.equal(await createApiInt(client).host(), 'api-int.sluice.internal');
  assert.equal(asked(), 0);
});
