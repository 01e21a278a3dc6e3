import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../api/core.ts';
import type { NodeUpdate } from '../api/resources.ts';
import { peerBundles } from './peers.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const node = (name: string, address: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  status: { addresses: [{ type: 'InternalIP', address }] },
});
const nodes = [node('m0', '10.0.0.1'), node('m1', '10.0.0.2'), node('m2', '10.0.0.3')];
const says = (name: string, status: NodeUpdate['status']) => ({ metadata: { name }, status }) as NodeUpdate;

test('what other nodes hold, or have verified on their media, can be had from them; disks come first', () => {
  const media = (name: string, verified: boolean) => ({ name, bundleDigest: digest, verified, path: '/x' });
  const found = peerBundles('m0', nodes, [
    says('m0', { store: [{ name: 'own', bundleDigest: digest }] } as NodeUpdate['status']),
    says('m1', {
      media: [
        { ...media('whole', true) },
        { ...media('delta', true), delta: { since: [{ name: 'base', digest }] } },
        media('refused', false),
      ],
    } as unknown as NodeUpdate['status']),
    says('m2', {
      store: [
        { name: 'held', bundleDigest: digest },
        { name: 'odd', bundleDigest: 'sha256:x' },
      ],
    } as NodeUpdate['status']),
    says('gone', { store: [{ name: 'held', bundleDigest: digest }] } as NodeUpdate['status']),
  ]);
  assert.deepEqual(
    found.map(({ name, node: where, address, from, needs }) => [name, where, address, from, needs]),
    [
      ['held', 'm2', '10.0.0.3', 'store', undefined],
      ['whole', 'm1', '10.0.0.2', 'media', undefined],
      ['delta', 'm1', '10.0.0.2', 'media', ['base']],
    ],
  );
});
