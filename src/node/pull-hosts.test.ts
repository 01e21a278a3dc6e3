import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../api/core.ts';
import type { RawManifest } from '../oci/source.ts';
import { anyHost, controlPlaneHosts, ownHost } from './pull-hosts.ts';

const node = (name: string, address: string | undefined, role = 'control-plane'): Node =>
  ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { [`node-role.kubernetes.io/${role}`]: '' } },
    status: address === undefined ? {} : { addresses: [{ type: 'InternalIP', address }] },
  }) as Node;
const digest = `sha256:${'a'.repeat(64)}`;
const image = `registry.example/openshift/release@${digest}`;

test('a worker asks the registries of the control plane, each worker another one first', () => {
  const nodes = [
    node('master-1', 'fd00::2'),
    node('master-0', '10.0.0.1'),
    node('master-2', undefined),
    node('worker-0', '10.0.0.9', 'worker'),
  ];
  const [first, second] = [controlPlaneHosts('a', nodes, 22625), controlPlaneHosts('b', nodes, 22625)];
  assert.deepEqual([...first].sort(), ['10.0.0.1:22625', '[fd00::2]:22625']);
  assert.deepEqual(second, [...first].reverse());
  assert.deepEqual(controlPlaneHosts('a', [], 22625), []);
});

test('the first registry that has the image is taken; one that is down or lacks it is passed over', async () => {
  const asked: string[] = [];
  const open = (host: string) => ({
    async manifest(repository: string, reference: string): Promise<RawManifest | undefined> {
      asked.push(`${host} ${repository}@${reference}`);
      if (host === 'down:1') throw new Error('connection refused');
      return host === 'whole:1' ? ({} as RawManifest) : undefined;
    },
  });
  const among = (...hosts: string[]) => anyHost(async () => hosts, open).holding(image);
  assert.equal(await among('down:1', 'empty:1', 'whole:1', 'never:1'), 'whole:1');
  assert.equal(asked.at(-1), `whole:1 openshift/release@${digest}`);
  await assert.rejects(among('down:1', 'empty:1'), (error: Error) => {
    assert.match(
      error.message,
      /no registry of the control plane has registry\.example\/openshift\/release@/,
    );
    assert.match(error.message, /down:1: connection refused; empty:1: it is not there/);
    return true;
  });
  await assert.rejects(among(), /no control-plane node is known/);
  const tagged = anyHost(async () => ['whole:1'], open).holding('registry.example/os:1');
  await assert.rejects(tagged, /is not named by digest/);
});

test('a control-plane node asks its own registry alone', async () => {
  const own = ownHost('10.0.0.1:22625');
  assert.deepEqual([await own.holding(image), await own.all()], ['10.0.0.1:22625', ['10.0.0.1:22625']]);
});
