import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnyObject, Node } from '../api/core.ts';
import {
  backupFact,
  clockFacts,
  deprecatedMetrics,
  olmFact,
  poolFact,
  requestFact,
  requestUse,
  troublesOf,
} from './read-facts.ts';

const object = (kind: string, fields: object, metadata: object = {}) =>
  ({ apiVersion: 'x/v1', kind, metadata: { name: 'x', ...metadata }, ...fields }) as unknown as AnyObject;
const conditions = (...all: [string, string, string?][]) => ({
  status: { conditions: all.map(([type, status, message]) => ({ type, status, message })) },
});

test('a MachineConfigPool is paused by its spec and degraded by its conditions', () => {
  assert.deepEqual(poolFact(object('MachineConfigPool', { spec: { paused: true } })), {
    name: 'x',
    paused: 'person',
  });
  const ours = { annotations: { 'sluice.dev/paused-by': 'sluice' } };
  const fact = (paused: boolean) => poolFact(object('MachineConfigPool', { spec: { paused } }, ours));
  assert.deepEqual(fact(true), { name: 'x', paused: 'window' });
  assert.deepEqual(fact(false), { name: 'x' });
  assert.equal(
    poolFact(object('MachineConfigPool', conditions(['NodeDegraded', 'True', 'm']))).degraded,
    'm',
  );
  assert.equal(
    poolFact(object('MachineConfigPool', conditions(['Updating', 'True', 'm']))).degraded,
    undefined,
  );
});

test('P-122 a clock is told by the heartbeat of its node; a node without one is there too, as unknown', () => {
  const now = Date.parse('2026-01-01T12:00:00Z');
  const node = (name: string, ready: 'True' | 'False') =>
    object('Node', conditions(['Ready', ready]), { name }) as unknown as Node;
  const lease = (name: string, renewTime?: string) => ({
    metadata: { name },
    ...(renewTime === undefined ? {} : { spec: { renewTime } }),
  });
  const nodes = ['ahead', 'well', 'behind', 'none', 'empty'].map((name) => node(name, 'True'));
  const leases = [
    lease('ahead', '2026-01-01T12:01:00.000000Z'),
    lease('well', '2026-01-01T11:59:50.000000Z'),
    lease('behind', '2026-01-01T11:50:00.000000Z'),
    lease('gone', '2026-01-01T11:50:00.000000Z'),
    lease('empty'),
    lease('away', '2026-01-01T11:50:00.000000Z'),
  ];
  assert.deepEqual(clockFacts(leases, [...nodes, node('away', 'False')], now), [
    { node: 'ahead', aheadMs: 60_000 },
    { node: 'well', aheadMs: 0 },
    { node: 'behind', aheadMs: -600_000 },
    { node: 'none', aheadMs: undefined },
    { node: 'empty', aheadMs: undefined },
    { node: 'away', aheadMs: undefined },
  ]);
  assert.equal(clockFacts(leases, [], now), undefined);
});

test('a certificate request is pending until somebody answered', () => {
  assert.equal(requestFact(object('CSR', { spec: { signerName: 's' } })).pending, true);
  for (const type of ['Approved', 'Denied', 'Failed']) {
    assert.equal(requestFact(object('CSR', conditions([type, 'True']))).pending, false);
  }
});

test('P-72 only an API that is used now, and that goes, counts', () => {
  const status = {
    removedInRelease: '1.32',
    requestCount: 3,
    last24h: [{ byNode: [{ byUser: [{ username: 'bob' }, { username: 'alice' }] }] }],
  };
  assert.deepEqual(requestUse(object('APIRequestCount', { status })), [
    { api: 'x', removedIn: '1.32', users: ['alice', 'bob'] },
  ]);
  assert.deepEqual(requestUse(object('APIRequestCount', { status: { ...status, requestCount: 0 } })), []);
  assert.deepEqual(requestUse(object('APIRequestCount', { status: { requestCount: 3 } })), []);
});

test('the metrics of a kube-apiserver tell of old APIs in use', () => {
  const text = `# HELP apiserver_requested_deprecated_apis [STABLE] Gauge
apiserver_requested_deprecated_apis{group="flowcontrol.apiserver.k8s.io",removed_release="1.32",resource="flowschemas",subresource="",version="v1beta3"} 1
apiserver_requested_deprecated_apis{group="",removed_release="",resource="componentstatuses",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="a",removed_release="1.33",resource="b",subresource="",version="v1"} 0
`;
  assert.deepEqual(deprecatedMetrics(text), [
    { api: 'flowschemas.v1beta3.flowcontrol.apiserver.k8s.io', removedIn: '1.32', users: [] },
  ]);
});

test('etcd says what is wrong in its own words', () => {
  assert.deepEqual(
    troublesOf(object('Etcd', conditions(['EtcdMembersAvailable', 'False', 'a is away'], ['X', 'True']))),
    ['EtcdMembersAvailable: a is away'],
  );
});

test('the newest backup counts, of whichever kind', () => {
  assert.equal(backupFact([]), undefined);
  const job = object(
    'CronJob',
    { status: { lastSuccessfulTime: '2026-01-02T00:00:00Z' } },
    { namespace: 'n' },
  );
  const backup = object('EtcdBackup', {
    status: {
      conditions: [{ type: 'BackupCompleted', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    },
  });
  assert.deepEqual(backupFact([backup, job]), {
    name: 'CronJob n/x',
    at: Date.parse('2026-01-02T00:00:00Z'),
  });
  assert.equal(backupFact([object('CronJob', {})])?.at, undefined);
});

test('P-96 the limits of an operator are read from its properties; what is no JSON is a limit that cannot be read', () => {
  const csv = (text?: string) =>
    olmFact(
      object(
        'ClusterServiceVersion',
        {},
        text === undefined ? {} : { annotations: { 'olm.properties': text } },
      ),
    );
  assert.deepEqual(csv().maxOpenShiftVersions, []);
  assert.deepEqual(
    csv('[{"type":"olm.maxOpenShiftVersion","value":"4.9"},{"type":"other","value":1}]').maxOpenShiftVersions,
    ['4.9'],
  );
  assert.deepEqual(csv('{').maxOpenShiftVersions, ['{']);
});
