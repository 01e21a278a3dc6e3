import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ConfigMap, Container, Pod, Secret } from '../api/core.ts';
import { ConfigError, environment, expand } from './environment.ts';

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'shop', uid: 'u-1', labels: { app: 'web', tier: 'front' } },
  spec: { containers: [], nodeName: 'n1', serviceAccountName: 'sa' },
};

const map: ConfigMap = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'map' },
  data: { a: 'A', b: 'B' },
};
const secret: Secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'secret' },
  data: { password: Buffer.from('hunter2').toString('base64') },
};

function env(container: Partial<Container>, image: string[] = []): Record<string, string> {
  const list = environment(
    pod,
    { name: 'main', ...container },
    {
      configMap: (name) => (name === 'map' ? map : undefined),
      secret: (name) => (name === 'secret' ? secret : undefined),
      image,
      service: [{ name: 'KUBERNETES_SERVICE_HOST', value: '127.0.0.1' }],
      nodeAddress: '10.0.0.1',
    },
  );
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}

test('$(NAME) sees what came before, $$ is a $, what is unknown stays', () => {
  const known = new Map([
    ['A', '1'],
    ['EMPTY', ''],
  ]);
  const table: [string, string][] = [
    ['$(A)', '1'],
    ['x$(A)y$(EMPTY)z', 'x1yz'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$1'],
    ['$(B)', '$(B)'],
    ['$A $', '$A $'],
    ['$(', '$('],
  ];
  for (const [text, wanted] of table) assert.equal(expand(text, known), wanted, text);
});

test('text without a $ is never changed', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const plain = text.replaceAll('$', '');
      assert.equal(expand(plain, new Map([['A', '1']])), plain);
    }),
  );
});

test('the order: image, cluster API, envFrom, env; the last wins', () => {
  const result = env(
    {
      envFrom: [{ prefix: 'P_', configMapRef: { name: 'map' } }, { secretRef: { name: 'secret' } }],
      env: [
        { name: 'ONE', value: 'uno' },
        { name: 'TWO', value: '$(ONE)-$(P_a)-$(KUBERNETES_SERVICE_HOST)-$(FROM_IMAGE)' },
        { name: 'ONE', value: 'again' },
      ],
    },
    ['PATH=/bin', 'FROM_IMAGE=x=y', 'ONE=image'],
  );
  assert.equal(result.PATH, '/bin');
  assert.equal(result.FROM_IMAGE, 'x=y');
  assert.equal(result.ONE, 'again');
  assert.equal(result.TWO, 'uno-A-127.0.0.1-$(FROM_IMAGE)');
  assert.equal(result.P_b, 'B');
  assert.equal(result.password, 'hunter2');
  assert.equal(result.HOSTNAME, 'web');
});

test('fields of the Pod and resources of the container', () => {
  const from = (fieldPath: string) => ({ name: fieldPath, valueFrom: { fieldRef: { fieldPath } } });
  const result = env({
    resources: { limits: { memory: '64Mi', cpu: '1500m' } },
    env: [
      from('metadata.name'),
      from('metadata.uid'),
      from("metadata.labels['tier']"),
      from('spec.nodeName'),
      from('spec.serviceAccountName'),
      from('status.podIP'),
      { name: 'MEMORY', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
      { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
    ],
  });
  assert.equal(result["metadata.labels['tier']"], 'front');
  assert.equal(result['metadata.uid'], 'u-1');
  assert.equal(result['status.podIP'], '10.0.0.1');
  assert.equal(result.MEMORY, '64');
  assert.equal(result.CPU, '2');
});

test('what is missing is an error with its name, unless it is optional', () => {
  const key = (name: string, of: string, optional?: boolean): Partial<Container> => ({
    env: [
      {
        name: 'X',
        valueFrom: { configMapKeyRef: { name, key: of, ...(optional === undefined ? {} : { optional }) } },
      },
    ],
  });
  assert.throws(() => env(key('nowhere', 'a')), new ConfigError('configmap "nowhere" not found'));
  assert.throws(() => env(key('map', 'z')), new ConfigError("couldn't find key z in ConfigMap shop/map"));
  assert.equal('X' in env(key('map', 'z', true)), false);
  assert.throws(() => env({ envFrom: [{ secretRef: { name: 'nowhere' } }] }), /secret "nowhere" not found/);
});
