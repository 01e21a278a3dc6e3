import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../api/core.ts';
import { addressOf, nodeReport } from './reports.ts';

const digest = `sha256:${'4'.repeat(64)}`;
const name = 'ocp-release-bundle-1.0.0-x86_64';
const node: Node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'master-0' } };
const time = '2026-01-01T00:00:00Z';

test('K4 D14 D10 what a node holds is known by its digest alone, whatever the host, its port or its brackets', () => {
  for (const host of ['localhost:22625', '[::1]:22625', '127.0.0.1:22625', 'api-int.a.b:22625', 'registry']) {
    const image = `${host}/openshift/release-images@${digest}`;
    const available = {
      type: 'Available',
      status: 'True' as const,
      reason: 'x',
      message: '',
      lastTransitionTime: time,
    };
    const machineConfigNode = {
      status: { internalReleaseImage: { releases: [{ name, image, conditions: [available] }] } },
    };
    const report = nodeReport({ node, machineConfigNode, nodeUpdate: undefined, ping: undefined });
    assert.equal(report.releases[0]?.payload, digest, host);
    assert.equal(report.releases[0]?.held, true);
  }
  const byTag = {
    status: { internalReleaseImage: { releases: [{ name, image: 'localhost:22625/a/b:1.0' }] } },
  };
  const report = nodeReport({ node, machineConfigNode: byTag, nodeUpdate: undefined, ping: undefined });
  assert.equal(report.releases[0]?.payload, undefined, 'a tag is no digest');
});

test('K2 a node of which nothing is known yet is not ready and holds nothing, and that is no crash', () => {
  const report = nodeReport({ node, machineConfigNode: undefined, nodeUpdate: undefined, ping: undefined });
  assert.deepEqual(report, { name: 'master-0', ready: false, registryReachable: true, releases: [] });
  const empty = nodeReport({ node, machineConfigNode: {}, nodeUpdate: { status: {} }, ping: 'refused' });
  assert.deepEqual([empty.registryReachable, empty.releases], [false, []]);
  assert.equal(addressOf(node), undefined);
});

test('what a node says is its address becomes a part of paths and URLs, so that only an IP address counts', () => {
  const at = (address: string) =>
    addressOf({ ...node, status: { addresses: [{ type: 'InternalIP', address }] } });
  assert.deepEqual(['10.0.0.1', 'fd00::1'].map(at), ['10.0.0.1', 'fd00::1']);
  for (const bad of ['../../etc/x', '10.0.0.1/..', 'master-0', '', '10.0.0.1@evil']) {
    assert.equal(at(bad), undefined, bad);
  }
});
