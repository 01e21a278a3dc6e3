import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../api/core.ts';
import type { NodeUpdate, NodeUpdateStatus } from '../api/resources.ts';
import type { VerifiedBundle } from '../bundle/bundle.ts';
import type { Digest } from '../oci/digest.ts';
import type { Attachment } from './attachments.ts';
import { peerBundles } from './peers.ts';
import { treeEntries } from './trees.ts';

const name = 'ocp-release-bundle-1.1.0-x86_64';
const digest = (letter: string) => `sha256:${letter.repeat(64)}` as Digest;

function node(nodeName: string, address: string): Node {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: nodeName },
    status: { addresses: [{ type: 'InternalIP', address }] },
  };
}

function update(nodeName: string, status: NodeUpdateStatus): NodeUpdate {
  return { apiVersion: 'sluice.dev/v1', kind: 'NodeUpdate', metadata: { name: nodeName }, spec: {}, status };
}

const nodes = [node('master-0', '127.0.0.1'), node('master-1', '127.0.0.2'), node('master-2', '::3')];

test('peers are what the other nodes say, verified media only, disks first', () => {
  const found = peerBundles('master-0', nodes, [
    update('master-0', { store: [{ name, bundleDigest: digest('a') }] }),
    update('master-1', {
      media: [
        { name, bundleDigest: digest('a'), verified: true },
        { name: 'refused', bundleDigest: digest('b'), verified: false },
      ],
    }),
    update('master-2', {
      store: [
        { name, bundleDigest: digest('a') },
        { name: 'x', bundleDigest: 'garbage' },
      ],
    }),
    update('unknown', { store: [{ name, bundleDigest: digest('a') }] }),
  ]);
  assert.deepEqual(
    found.map((peer) => `${peer.node} ${peer.from} ${peer.name}`),
    [`master-2 store ${name}`, `master-1 media ${name}`],
  );
});

test('the registry answers from store, own media, then media of peers that it has not itself', () => {
  const attachments: Attachment[] = [
    {
      path: '/media',
      state: 'Present',
      format: 'directory',
      media: undefined,
      bundles: [
        { name, state: 'Verified', bundle: { digest: digest('a') } as VerifiedBundle },
        { name: 'bad', state: 'Refused', reason: 'SignatureMissing', message: '' },
      ],
    },
    { path: '/lost', state: 'Lost', format: undefined, media: undefined, bundles: [] },
  ];
  const peer = (letter: string, from: 'store' | 'media', address = '127.0.0.2') => ({
    node: 'master-1',
    address,
    name,
    bundleDigest: digest(letter),
    from,
  });
  const entries = treeEntries({
    storePath: '/store',
    held: new Set([digest('c')]),
    attachments,
    peers: [peer('a', 'media'), peer('b', 'media', '::3'), peer('c', 'media'), peer('d', 'store')],
    registryPort: 22625,
  });
  assert.deepEqual(entries, [
    { kind: 'store', path: '/store' },
    { kind: 'media', path: '/media', bundleDigest: digest('a') },
    { kind: 'peer', url: 'https://[::3]:22625', bundleDigest: digest('b') },
  ]);
});
