import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quietCluster } from '../../tests/quiet-cluster.ts';
import type { ClusterVersion } from '../api/resources.ts';
import type { Digest } from '../oci/digest.ts';
import { acknowledgeGate } from './acknowledge.ts';
import { contentGate } from './content.ts';
import { edgeGate } from './edge.ts';
import type { GateFacts, NodeFact, VerifiedTarget } from './facts.ts';
import { judge } from './finding.ts';
import { evaluateGates } from './gates.ts';
import { sourceOf } from './gather.ts';
import { known, unknown } from './known.ts';
import { kubeletGate } from './kubelet.ts';
import { operatorsGate } from './operators.ts';
import { coverageCheck, preflightGate } from './preflight.ts';
import { signatureGate } from './signature.ts';

const digest = (letter: string): Digest => `sha256:${letter.repeat(64)}`;
const image = (letter: string) => `quay.example/release@${digest(letter)}`;

function target(fields: Partial<VerifiedTarget> = {}): VerifiedTarget {
  return {
    verified: true,
    version: '1.1.0',
    digest: digest('b'),
    previous: ['1.0.0'],
    kubernetesVersion: '1.34.1',
    checkSet: 'set',
    bundle: { name: 'ocp-release-bundle-1.1.0-x86_64', digest: digest('e'), signedBy: 'build' },
    ...fields,
  };
}

function node(name: string, fields: Partial<NodeFact> = {}): NodeFact {
  return {
    name,
    controlPlane: true,
    ready: true,
    kubeletVersion: 'v1.33.0',
    bundles: [digest('e')],
    ...fields,
  };
}

function facts(fields: Partial<GateFacts> = {}): GateFacts {
  return {
    purpose: 'update',
    now: 1_000_000,
    source: { version: '1.0.0', digest: digest('a') },
    history: [{ state: 'Completed', version: '1.0.0', image: image('a') }],
    overrides: [],
    target: target(),
    openpgp: known(undefined),
    content: known({
      asked: true,
      available: { status: 'True', reason: 'Available', message: '' },
      mountedOn: [],
    }),
    operators: known([{ name: 'demo', conditions: [{ type: 'Available', status: 'True' }] }]),
    nodes: known([node('master-0'), node('master-1'), node('master-2')]),
    cluster: quietCluster,
    adminGates: known({}),
    adminAcks: known({}),
    preflight: known({
      object: 'update-bbbbbbbbbbbb',
      verdict: 'Passed',
      reason: 'AllPassed',
      message: '',
      targetDigest: digest('b'),
      sourceDigest: digest('a'),
      checkSet: 'set',
      finishedAt: 900_000,
      maxAgeMs: 86_400_000,
      checks: [
        {
          name: coverageCheck,
          component: 'release',
          result: 'Passed',
          severity: 'blocking',
          message: '1 check ran',
        },
        { name: 'Demo', component: 'demo', result: 'Passed', severity: 'blocking', message: 'ok' },
      ],
    }),
    ...fields,
  };
}

const open = { accepted: new Set<string>(), force: false };
const blockers = (found: GateFacts, rule = open) =>
  judge(evaluateGates(found), rule).blocking.map((finding) => finding.name);

test('a healthy cluster and a whole, signed, checked release pass every gate', () => {
  assert.deepEqual(blockers(facts()), []);
  assert.deepEqual(new Set(evaluateGates(facts()).map((finding) => finding.result)), new Set(['Passed']));
});

test('all gates are evaluated and all that blocks is named at once', () => {
  const found = facts({
    target: target({ previous: ['0.9.0'] }),
    operators: known([
      { name: 'net-2', conditions: [{ type: 'Upgradeable', status: 'False', reason: 'Old', message: 'm' }] },
    ]),
    nodes: known([node('master-0', { bundles: [] }), node('master-1', { ready: false })]),
    preflight: known(undefined),
  });
  assert.deepEqual(blockers(found).sort(), [
    'ClusterOperatorUpgradeable-net-2',
    'Preflight',
    'ReleaseContent',
    'ReleaseContentReachable',
    'UpdatePath',
  ]);
});

test('P-34 a fact that cannot be read fails the gate that needs it, and only that one', () => {
  assert.deepEqual(blockers(facts({ operators: unknown('forbidden') })), ['ClusterOperatorsUpgradeable']);
  assert.deepEqual(blockers(facts({ preflight: unknown('forbidden') })), ['Preflight']);
});

test('P-64 force passes findings, never the signature nor missing content', () => {
  const untrusted = facts({
    target: { verified: false, code: 'SignatureUntrusted', message: 'no trusted key', next: 'n' },
  });
  assert.deepEqual(blockers(untrusted, { accepted: new Set(['ReleaseSignature']), force: true }), [
    'ReleaseSignature',
  ]);
  assert.equal(signatureGate(untrusted)[0]?.result, 'Risk');
  const lacking = facts({
    nodes: known([node('master-0', { bundles: [] })]),
    target: target({ previous: [] }),
  });
  assert.deepEqual(blockers(lacking, { accepted: new Set(), force: true }), ['ReleaseContent']);
});

test('content that could not be read is an error, not an untrusted signature', () => {
  const found = facts({ target: { verified: false, code: 'Unreachable', message: 'm', next: 'n' } });
  assert.equal(signatureGate(found)[0]?.result, 'Error');
});

test('acceptance by name passes a risk, never an error', () => {
  const accepted = { accepted: new Set(['UpdatePath', 'ClusterOperatorsUpgradeable']), force: false };
  assert.deepEqual(blockers(facts({ target: target({ previous: [] }) }), accepted), []);
  assert.deepEqual(blockers(facts({ operators: unknown('forbidden') }), accepted), [
    'ClusterOperatorsUpgradeable',
  ]);
});

test('a preflight may look at a release that is still on a disk', () => {
  const found = facts({
    purpose: 'preflight',
    content: known({ asked: false, mountedOn: ['master-0'] }),
    nodes: known([node('master-0', { bundles: [] }), node('master-1', { bundles: [] })]),
  });
  const [finding] = contentGate(found);
  assert.equal(finding?.severity, 'info');
  assert.match(finding?.message ?? '', /0 of 2 .*lacking: master-0, master-1; mounted on master-0/);
  assert.deepEqual(blockers(found), []);
  assert.equal(contentGate({ ...found, purpose: 'update' })[0]?.severity, 'blocking');
});

test('one of a kind is told of as one', () => {
  const certificate = { namespace: 'n', name: 'c', notAfter: 1e12, vital: false };
  const cluster = {
    ...quietCluster,
    disruptionBudgets: known([
      { namespace: 'n', name: 'b', disruptionsAllowed: 1, currentHealthy: 2, expectedPods: 2 },
    ]),
    certificates: known([certificate]),
    webhooks: known([{ configuration: 'c', webhook: 'w', service: 'n/s', fails: true, vital: false }]),
    olm: known([{ namespace: 'n', name: 'o', maxOpenShiftVersions: [] }]),
  };
  for (const bundles of [[digest('e')], []]) {
    const found = evaluateGates(facts({ cluster, nodes: known([node('master-0', { bundles })]) }));
    const messages = found.map((finding) => finding.message);
    assert.ok(messages.includes('the only node is ready'));
    for (const message of messages)
      assert.doesNotMatch(message, /\ball 1\b|\b1 (?:of 1 )?[a-z-]+(?: [a-z-]+)*s\b/, message);
  }
});

test('content on every node still waits for InternalReleaseImage to say Available', () => {
  const found = facts({ content: known({ asked: false, mountedOn: [] }) });
  assert.match(contentGate(found)[0]?.message ?? '', /not reported available/);
});

test('a copy that a damaged medium has ended is not waited for, and a preflight holds it against the release', () => {
  const failed = [{ node: 'master-0', reason: 'DigestMismatch', message: 'blob sha256:1 is sha256:2' }];
  const of = (reason: string, mountedOn: string[]) =>
    contentGate(
      facts({
        purpose: 'preflight',
        content: known({ asked: true, mountedOn, failed: failed.map((each) => ({ ...each, reason })) }),
        nodes: known([node('master-0', { bundles: [] }), node('master-1', { bundles: [] })]),
      }),
    )[0];
  const found = of('DigestMismatch', ['master-0']);
  assert.equal(found?.severity, 'blocking');
  assert.match(
    found?.message ?? '',
    /lacking: master-0, master-1; the medium at master-0 is damaged \(DigestMismatch: blob sha256:1 is sha256:2\)$/,
  );
  assert.match(found?.next ?? '', /^Waiting does not help: detach the medium and attach another copy/);
  assert.match(of('DigestMismatch', [])?.message ?? '', /the copy failed on master-0 \(DigestMismatch/);
  // A delta without its base is no damage.
  const lacks = of('ContentMissing', ['master-0'])?.message ?? '';
  assert.match(lacks, /the medium at master-0 does not hold all of it \(ContentMissing/);
  const conflict = of('BundleConflict', ['master-0']);
  assert.match(conflict?.message ?? '', /the copy failed on master-0 \(BundleConflict/);
  assert.match(conflict?.next ?? '', /see what is wrong, and mend it: sluice release status 1\.1\.0/);
  // Whoever holds it whole has no need of that copy.
  const whole = contentGate(
    facts({
      content: known({
        asked: true,
        available: { status: 'True', reason: 'A', message: '' },
        mountedOn: [],
        failed,
      }),
    }),
  );
  assert.equal(whole[0]?.result, 'Passed');
});

for (const [name, history, source, to, wanted] of [
  ['to the release before', ['1.0.3', '1.0.2 Partial', '1.0.1'], '1.0.3', '1.0.2', 'Passed'],
  ['past the release before', ['1.0.3', '1.0.2 Partial', '1.0.1'], '1.0.3', '1.0.1', 'Risk'],
  ['back over a minor', ['1.1.0', '1.0.2'], '1.1.0', '1.0.2', 'Risk'],
  ['from an unfinished update', ['1.0.3 Partial', '1.0.2'], '1.0.3', '1.0.2', 'Passed'],
] as const) {
  test(`P-60 rollback ${name}: ${wanted}`, () => {
    const entries = history.map((text) => {
      const [version = '', state = 'Completed'] = text.split(' ');
      return { version, state, image: image(version.at(-1) ?? '') };
    });
    const letter = to.at(-1) ?? '';
    const [finding] = edgeGate(
      facts({
        history: entries,
        source: { version: source, digest: digest(source.at(-1) ?? '') },
        target: target({ version: to, digest: digest(letter), previous: [] }),
      }),
    );
    assert.equal(finding?.name, 'ClusterVersionRollback');
    assert.equal(finding?.result, wanted);
    // It can be accepted, and what can be is not called impossible.
    const words = `${finding?.message} ${finding?.next}`;
    assert.doesNotMatch(words, /cannot/);
    if (wanted === 'Risk') assert.match(words, /upgrade --to \S+ --accept ClusterVersionRollback/);
  });
}

test('P-56 a second minor hop waits for the update in progress; a patch of the same minor does not', () => {
  const history = [
    { state: 'Partial', version: '4.14.35', image: image('c') },
    { state: 'Completed', version: '4.14.15', image: image('a') },
  ];
  const source = { version: '4.14.35', digest: digest('c') };
  const hop = edgeGate(
    facts({ history, source, target: target({ version: '4.15.29', previous: ['4.14.35'] }) }),
  );
  assert.deepEqual(
    hop.filter((finding) => finding.result === 'Risk').map((finding) => finding.name),
    ['ClusterVersionUpdating'],
  );
  const patch = edgeGate(
    facts({ history, source, target: target({ version: '4.14.36', previous: ['4.14.35'] }) }),
  );
  assert.deepEqual(
    patch.map((finding) => finding.result),
    ['Passed'],
  );
});

test('P-84 Upgradeable=False and overrides block a minor move and are told for a patch', () => {
  const found = facts({
    operators: known([{ name: 'a', conditions: [{ type: 'Upgradeable', status: 'False' }] }]),
    overrides: ['apps/Deployment x/y'],
  });
  const severities = (each: GateFacts) =>
    operatorsGate(each)
      .filter((finding) => finding.result === 'Risk')
      .map((finding) => finding.severity);
  assert.deepEqual(severities(found), ['blocking', 'blocking']);
  assert.deepEqual(severities({ ...found, target: target({ version: '1.0.1' }) }), ['warning', 'warning']);
});

for (const [kubelet, kubernetes, wanted] of [
  ['v1.33.0', '1.34.1', 'Passed'],
  ['v1.31.9', '1.34.1', 'Passed'],
  ['v1.30.2', '1.34.1', 'Risk'],
  ['v1.22.0', '1.24.0', 'Passed'],
  ['v1.21.0', '1.24.0', 'Risk'],
  ['v1.0.0', '1.1.0', 'Passed'],
  ['sandbox', '1.34.1', 'Error'],
] as const) {
  test(`P-86 P-88 kubelet ${kubelet} beside Kubernetes ${kubernetes}: ${wanted}`, () => {
    const found = facts({
      target: target({ kubernetesVersion: kubernetes }),
      nodes: known([node('master-0', { kubeletVersion: kubelet })]),
    });
    assert.equal(kubeletGate(found)[0]?.result, wanted);
  });
}

test('a release that does not say its Kubernetes is not judged by it, and says what was not looked at, and why', () => {
  const { kubernetesVersion: _, ...silent } = target();
  const [found] = kubeletGate(facts({ target: silent }));
  assert.equal(found?.result, 'Skipped');
  assert.match(found.message, /^kubelets not compared: 1\.1\.0 names no version of Kubernetes$/);
});

test('admin acks hold a minor move until the key says true', () => {
  const gated = facts({
    adminGates: known({ 'ack-1.0-api-removals': 'APIs go away', 'ack-0.9-old': 'past' }),
  });
  assert.deepEqual(
    acknowledgeGate(gated).map((finding) => [finding.name, finding.result]),
    [['AdminAck-ack-1.0-api-removals', 'Risk']],
  );
  assert.equal(
    acknowledgeGate({ ...gated, adminAcks: known({ 'ack-1.0-api-removals': 'yes' }) })[0]?.result,
    'Risk',
  );
  assert.equal(
    acknowledgeGate({ ...gated, adminAcks: known({ 'ack-1.0-api-removals': 'true' }) })[0]?.result,
    'Passed',
  );
  assert.equal(acknowledgeGate({ ...gated, target: target({ version: '1.0.1' }) })[0]?.result, 'Passed');
  assert.equal(acknowledgeGate(facts({ adminGates: unknown('forbidden') }))[0]?.result, 'Error');
  assert.equal(acknowledgeGate(facts({ adminGates: known({ 'ack-x': '' }) }))[0]?.result, 'Risk');
});

test('P-70 a report is evidence only for this digest, this source and its age', () => {
  const base = facts();
  const report = base.preflight.known ? base.preflight.value : undefined;
  assert.ok(report !== undefined);
  for (const change of [
    { targetDigest: digest('c') },
    { sourceDigest: digest('c') },
    { finishedAt: 1_000_000 - 86_400_001 },
    { finishedAt: 1_000_000 + 3_600_000 },
    { verdict: 'Superseded' },
    { verdict: 'Running' },
    { checkSet: 'other' },
    { checkSet: undefined },
  ]) {
    const [finding] = preflightGate(facts({ preflight: known({ ...report, ...change }) }));
    assert.equal(finding?.result, 'Running', JSON.stringify(change));
  }
});

test('a report whose checks were never run is no pass, whatever its verdict says', () => {
  const base = facts();
  const report = base.preflight.known ? base.preflight.value : undefined;
  assert.ok(report !== undefined);
  for (const verdict of ['Passed', 'Blocked', 'Incomplete']) {
    const [finding] = preflightGate(facts({ preflight: known({ ...report, verdict, checks: [] }) }));
    assert.equal(finding?.result, 'Error', verdict);
  }
});

test('findings of the release name the component and can be accepted', () => {
  const base = facts();
  const report = base.preflight.known ? base.preflight.value : undefined;
  assert.ok(report !== undefined);
  const risky = facts({
    preflight: known({
      ...report,
      verdict: 'Blocked',
      checks: [
        ...report.checks,
        { name: 'LegacyMode', component: 'demo', result: 'Risk', severity: 'blocking', message: 'is on' },
      ],
    }),
  });
  assert.deepEqual(blockers(risky), ['LegacyMode']);
  assert.deepEqual(blockers(risky, { accepted: new Set(['LegacyMode']), force: false }), []);
});

for (const [from, to, previous, operatorAgrees, wanted] of [
  ['4.12.0', '5.0.0', [], true, 'UpdatePath Risk'],
  ['4.23.0', '5.1.0', ['5.0.0'], true, 'UpdatePath Risk'],
  ['4.23.0', '5.0.0', ['4.23.0'], true, 'UpdatePath Passed'],
  ['4.23.0', '5.0.0', ['4.23.0'], false, 'ClusterOperatorUpgradeable-demo Risk blocking'],
] as const) {
  test(`P-82 from ${from} to ${to}, which names [${previous}]: ${wanted}`, () => {
    const conditions = [{ type: 'Upgradeable', status: operatorAgrees ? 'True' : 'False' }];
    const found = facts({
      source: { version: from, digest: digest('a') },
      target: target({ version: to, previous }),
      operators: known([{ name: 'demo', conditions }]),
    });
    const told = [...edgeGate(found), ...operatorsGate(found)].map(
      (each) => `${each.name} ${each.result} ${each.severity}`,
    );
    assert.ok(told.join('\n').includes(wanted), told.join('\n'));
  });
}

test('P-54 where only an image was asked for, the newest completed release is where the cluster is', () => {
  const version = {
    status: {
      desired: { version: '', image: image('b') },
      history: [
        { state: 'Partial', version: '', image: image('b') },
        { state: 'Completed', version: '4.4.3', image: image('a') },
      ],
    },
  } as unknown as ClusterVersion;
  assert.deepEqual(sourceOf(version), { version: '4.4.3', digest: digest('b') });
});
