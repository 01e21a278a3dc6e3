import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quietCluster } from '../../tests/quiet-cluster.ts';
import type { Digest } from '../oci/digest.ts';
import { certificatesGate } from './certificates.ts';
import { clocksGate } from './clocks.ts';
import type { ClusterFacts } from './cluster-facts.ts';
import { disruptionGate } from './disruption.ts';
import { etcdGate } from './etcd.ts';
import type { GateFacts } from './facts.ts';
import type { Gate } from './gates.ts';
import { known, unknown } from './known.ts';
import { olmGate } from './olm.ts';
import { poolsGate } from './pools.ts';
import { quorumTrouble } from './quorum.ts';
import { removedGate } from './removed.ts';
import { signingRequestsGate } from './signing-requests.ts';
import { spaceGate } from './space.ts';
import { webhooksGate } from './webhooks.ts';

const day = 86_400_000;
const now = 1000 * day;
const digest: Digest = `sha256:${'b'.repeat(64)}`;

function facts(cluster: Partial<ClusterFacts>, version = '4.20.0', kubernetesVersion?: string): GateFacts {
  const target = {
    verified: true,
    version,
    digest,
    previous: [],
    bundle: { name: 'b', digest, signedBy: 'k' },
    definitions: new Map([['widgets.example.io', ['v1']]]),
    ...(kubernetesVersion === undefined ? {} : { kubernetesVersion }),
  } as const;
  return {
    purpose: 'preflight',
    now,
    source: { version: '4.19.0', digest },
    history: [],
    overrides: [],
    target,
    openpgp: known(undefined),
    content: unknown(''),
    operators: known([]),
    nodes: known([]),
    adminGates: known({}),
    adminAcks: known({}),
    preflight: known(undefined),
    cluster: { ...quietCluster, ...cluster },
  };
}

const budget = (disruptionsAllowed: number, expectedPods = 2) =>
  known([{ namespace: 'n', name: 'b', disruptionsAllowed, currentHealthy: 2, expectedPods }]);
const certificate = (days: number | undefined, vital = false) =>
  known([{ namespace: 'n', name: 'c', notAfter: days === undefined ? undefined : now + days * day, vital }]);
const clock = (aheadMs: number | undefined) => known([{ node: 'n', aheadMs }]);
const hook = (fields: object) =>
  known([
    { configuration: 'c', webhook: 'w', service: 'n/s', fails: true, vital: false, dead: 'gone', ...fields },
  ]);
const request = (minutes: number, pending = true) =>
  known([{ name: 'csr-1', signer: 'kubelet', createdAt: now - minutes * 60_000, pending }]);
const operator = (...maxOpenShiftVersions: unknown[]) =>
  known([{ namespace: 'n', name: 'o', maxOpenShiftVersions }]);
const use = (removedIn: string) => known([{ api: 'widgets.v1beta1', removedIn, users: ['alice'] }]);
const no = unknown<never>('it cannot be read');

const table: [string, Gate, Partial<ClusterFacts>, string, string?, string?][] = [
  ['a budget with room', disruptionGate, { disruptionBudgets: budget(1) }, 'Passed'],
  ['a budget without', disruptionGate, { disruptionBudgets: budget(0) }, 'Risk warning n/b (2 of 2 healthy)'],
  ['a budget of no Pods', disruptionGate, { disruptionBudgets: budget(0, 0) }, 'Passed'],
  [
    'budgets that cannot be read',
    disruptionGate,
    { disruptionBudgets: no },
    'Error warning it cannot be read',
  ],
  ['space enough', spaceGate, {}, 'Passed'],
  [
    'a kubelet short of space',
    spaceGate,
    { storage: known([{ node: 'm', diskPressure: true }]) },
    'Risk blocking m (the kubelet reports DiskPressure)',
  ],
  [
    'a copy that is short of space',
    spaceGate,
    { storage: known([{ node: 'm', diskPressure: false, full: 'needs 9 GiB' }]) },
    'Risk blocking m (needs 9 GiB)',
  ],
  ['no disconnected use of old APIs is counted', removedGate, {}, 'StoredVersionsRemoved Passed'],
  [
    'P-124 an API gone in the Kubernetes of the target',
    removedGate,
    { deprecatedUse: use('1.32') },
    'Risk blocking widgets.v1beta1 (removed in 1.32, used by alice)',
    '4.20.0',
    '1.33.2',
  ],
  [
    'P-124 an API gone in the very same',
    removedGate,
    { deprecatedUse: use('1.33') },
    'Risk blocking',
    '4.20.0',
    'v1.33.0',
  ],
  ['P-124 an API that goes later', removedGate, { deprecatedUse: use('1.40') }, 'Passed', '4.20.0', '1.33.2'],
  [
    'P-124 a removal that cannot be read',
    removedGate,
    { deprecatedUse: use('soon') },
    'Risk blocking',
    '4.20.0',
    '1.33.2',
  ],
  [
    'P-124 a target that does not say its Kubernetes, and old APIs in use',
    removedGate,
    { deprecatedUse: use('1.32') },
    'Risk blocking some Kubernetes serves no more: widgets.v1beta1 (removed in 1.32)',
  ],
  [
    'P-124 a target that does not say its Kubernetes, where nobody uses old APIs',
    removedGate,
    { deprecatedUse: known([]) },
    'Passed',
  ],
  [
    'a stored version that the release knows',
    removedGate,
    { definitions: known([{ name: 'widgets.example.io', stored: ['v1'] }]) },
    'Passed',
  ],
  [
    'a stored version that it knows no more',
    removedGate,
    { definitions: known([{ name: 'widgets.example.io', stored: ['v1alpha1', 'v1'] }]) },
    'Risk blocking widgets.example.io (v1alpha1)',
  ],
  [
    'a definition of somebody else',
    removedGate,
    { definitions: known([{ name: 'other.io', stored: ['v0'] }]) },
    'Passed',
  ],
  ['a certificate with time', certificatesGate, { certificates: certificate(31) }, 'Passed'],
  [
    'a certificate near its end',
    certificatesGate,
    { certificates: certificate(12) },
    'Risk warning n/c (12 days left)',
  ],
  [
    'a certificate that has expired',
    certificatesGate,
    { certificates: certificate(-1) },
    'Risk warning n/c (expired)',
  ],
  [
    'the registry’s own near its end',
    certificatesGate,
    { certificates: certificate(1, true) },
    'Risk blocking n/c (1 day left)',
  ],
  [
    'a certificate that cannot be read',
    certificatesGate,
    { certificates: certificate(undefined) },
    'Risk warning n/c (cannot be read)',
  ],
  ['no certificates', certificatesGate, {}, ''],
  ['P-122 clocks that agree', clocksGate, { clocks: clock(9000) }, 'Passed'],
  ['P-122 a clock ahead', clocksGate, { clocks: clock(65_000) }, 'Risk warning n (65 s ahead)'],
  ['P-122 a clock behind', clocksGate, { clocks: clock(-65_000) }, 'Risk warning n (65 s behind)'],
  [
    'P-122 a clock of which nothing tells',
    clocksGate,
    { clocks: clock(undefined) },
    'Risk warning n (no heartbeat tells)',
  ],
  [
    'pools that go',
    poolsGate,
    { pools: known([{ name: 'worker' }]) },
    'PoolsReady Passed warning no pool is paused or degraded',
  ],
  [
    'a pool whose window is closed',
    poolsGate,
    { pools: known([{ name: 'worker', paused: 'window' }]) },
    'PoolsReady Passed warning no pool is degraded, or paused by a person; these follow when their windows open: worker',
  ],
  [
    'a paused pool',
    poolsGate,
    { pools: known([{ name: 'worker', paused: 'person' }]) },
    'Risk warning worker is paused',
  ],
  [
    'a degraded pool',
    poolsGate,
    { pools: known([{ name: 'worker', degraded: 'node x' }]) },
    'Risk blocking worker is degraded (node x)',
  ],
  ['a cluster without pools', poolsGate, {}, ''],
  ['a request just made', signingRequestsGate, { signingRequests: request(9) }, 'Passed'],
  [
    'a request that waits',
    signingRequestsGate,
    { signingRequests: request(10) },
    'Risk warning csr-1 (kubelet)',
  ],
  ['a request that was answered', signingRequestsGate, { signingRequests: request(10, false) }, 'Passed'],
  ['a dead webhook', webhooksGate, { webhooks: hook({}) }, 'Risk warning c (n/s: gone)'],
  ['a dead webhook before Pods', webhooksGate, { webhooks: hook({ vital: true }) }, 'Risk blocking'],
  ['a dead webhook that lets through', webhooksGate, { webhooks: hook({ fails: false }) }, 'Passed'],
  ['a webhook that answers', webhooksGate, { webhooks: hook({ dead: undefined }) }, 'Passed'],
  ['etcd that is not shown', etcdGate, {}, ''],
  ['etcd that is well', etcdGate, { etcdTroubles: known([]) }, 'EtcdHealth Passed'],
  [
    'etcd that is not',
    etcdGate,
    { etcdTroubles: known(['EtcdMembersDegraded: one is slow']) },
    'Risk blocking EtcdMembersDegraded',
  ],
  [
    'a backup of today',
    etcdGate,
    { etcdBackup: known({ name: 'b', at: now - 3_600_000 }) },
    'EtcdBackup Passed',
  ],
  [
    'a backup of last week',
    etcdGate,
    { etcdBackup: known({ name: 'b', at: now - 7 * day }) },
    'Risk warning b, is 168 h old',
  ],
  [
    'a backup that never ended',
    etcdGate,
    { etcdBackup: known({ name: 'b', at: undefined }) },
    'Risk warning b has never ended well',
  ],
  ['no OLM', olmGate, {}, ''],
  ['P-96 an operator without a limit', olmGate, { olm: operator() }, 'Passed'],
  ['P-96 a limit that allows', olmGate, { olm: operator('4.20') }, 'Passed'],
  [
    'P-96 P-76 a limit below: 4.9 is less than 4.20',
    olmGate,
    { olm: operator('4.9') },
    'Risk blocking n/o (it allows up to 4.9)',
  ],
  ['P-96 a limit that cannot be read', olmGate, { olm: operator('4.y') }, 'Risk blocking'],
  [
    'P-96 two limits',
    olmGate,
    { olm: operator('4.20', '4.21') },
    'Risk blocking n/o (it names olm.maxOpenShiftVersion more than once)',
  ],
  ['P-96 a number, which YAML has cut', olmGate, { olm: operator(4.2) }, 'Risk blocking'],
  ['P-96 a limit of the major version before', olmGate, { olm: operator('4.23') }, 'Risk blocking', '5.0.0'],
];

for (const [name, gate, cluster, wanted, version, kubernetes] of table) {
  test(name, () => {
    const found = gate(facts(cluster, version, kubernetes));
    if (wanted === '') return assert.deepEqual(found, []);
    const told = found
      .map((each) => `${each.name} ${each.result} ${each.severity} ${each.message}`)
      .join('\n');
    for (const word of parts(wanted)) assert.ok(told.includes(word), told);
    const risk = found.find((each) => each.result === 'Risk');
    if (risk !== undefined) assert.ok((risk.next ?? '').length > 0, 'a risk says what to do');
  });
}

test('a few requests are named in the command that approves them; of many nobody is told to approve all', () => {
  const nextOf = (count: number) => {
    const requests = Array.from({ length: count }, (_, index) => {
      return { name: `csr-${index}`, signer: 'kubelet', createdAt: now - 3_600_000, pending: true };
    });
    return signingRequestsGate(facts({ signingRequests: known(requests) }))[0]?.next ?? '';
  };
  assert.match(nextOf(2), /approve csr-0 csr-1\.$/);
  assert.match(nextOf(300), /approve NAME … .*kubectl get csr/);
  assert.doesNotMatch(nextOf(300), /csr-\d/);
});

/** 'Risk warning words' as what must stand in a finding. */
function parts(wanted: string): string[] {
  const match = /^(Risk|Error) (blocking|warning) ?(.*)$/.exec(wanted);
  return match === null ? [wanted] : [`${match[1]} ${match[2]}`, match[3] ?? ''];
}

for (const [others, may] of [
  [[], true],
  [[true], true],
  [[false], false],
  [[true, true], true],
  [[true, false], false],
  [[true, true, true, false], true],
  [[true, true, false, false], false],
] as const) {
  test(`with ${JSON.stringify(others)} beside it, a control-plane node ${may ? 'may' : 'may not'} leave`, () => {
    assert.equal(quorumTrouble(others) === undefined, may);
  });
}
