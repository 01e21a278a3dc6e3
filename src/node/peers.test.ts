import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../api/core.ts';
import { labels } from '../api/names.ts';
import type { NodeUpdate } from '../api/resources.ts';
import type { Digest } from '../oci/digest.ts';
import { copyingPeers, peerBundles } from './peers.ts';

const digest: Digest = `sha256:${'a'.repeat(64)}`;
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

test('nodes that copy a release are those that are to have it and can; some have it on media', () => {
  const other = `sha256:${'b'.repeat(64)}`;
  const on = (bundleDigest: string, verified: boolean) => [{ name: 'r', bundleDigest, verified, path: '/x' }];
  const copies = (state: string) => [{ release: 'r', state, bytesDone: 7 }];
  const said: Record<string, unknown> = {
    self: { media: on(digest, true) },
    reader: { media: on(digest, true), copies: copies('Copying') },
    refused: { media: on(digest, false) },
    another: { media: on(other, true) },
    whole: { store: [{ name: 'r', bundleDigest: digest }] },
    paused: { copies: copies('Paused') },
    failed: { copies: copies('Failed') },
    asleep: {},
    worker: {},
    mute: undefined,
  };
  const names = Object.keys(said);
  const all = names.map((name): Node => {
    const ready = { type: 'Ready', status: name === 'asleep' ? 'False' : 'True' };
    const { metadata, ...rest } = node(name, '10.0.0.1');
    return {
      ...rest,
      metadata: { ...metadata, labels: name === 'worker' ? {} : { [labels.controlPlane]: '' } },
      status: { ...rest.status, conditions: [ready] },
    } as Node;
  });
  const updates = names.map((name) => says(name, said[name] as NodeUpdate['status']));
  assert.deepEqual(
    copyingPeers('self', 'r', digest, all, updates).map((peer) => [
      peer.node,
      peer.hasMedium,
      peer.bytesDone,
    ]),
    [
      ['reader', true, 7],
      ['refused', false, undefined],
      ['another', false, undefined],
    ],
  );
});
