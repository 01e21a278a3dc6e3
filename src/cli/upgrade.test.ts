import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterVersion, UpdatePreflight } from '../api/resources.ts';
import type { Digest } from '../oci/digest.ts';
import { acceptedAfter } from '../preflight/request.ts';
import { acceptanceWarnings } from './upgrade-accept.ts';
import { clusterConcerns, exitOf, recommendations } from './upgrade-recommend.ts';
import { recommendLines } from './upgrade-recommend-view.ts';
import { updateStatus } from './upgrade-status.ts';
import { pendingWish, versionLines } from './upgrade-view.ts';

const now = Date.parse('2026-01-01T14:00:00Z');
const digest = (letter: string): Digest => `sha256:${letter.repeat(64)}`;
const image = (letter: string) => `q.example/r@${digest(letter)}`;
const at = '2026-01-01T04:00:00Z';

function version(fields: Partial<NonNullable<ClusterVersion['status']>>): ClusterVersion {
  return {
    apiVersion: 'config.openshift.io/v1',
    kind: 'ClusterVersion',
    metadata: { name: 'version' },
    spec: { clusterID: '' },
    status: {
      desired: { version: '1.0.0', image: image('a') },
      observedGeneration: 1,
      versionHash: '',
      availableUpdates: null,
      ...fields,
    },
  };
}

const condition = (type: string, status: 'True' | 'False' | 'Unknown', message: string, reason = '') => ({
  type,
  status,
  message,
  reason,
  lastTransitionTime: at,
});
const done = {
  state: 'Completed',
  version: '1.0.0',
  image: image('a'),
  startedTime: at,
  completionTime: at,
  verified: true,
};

test('at rest it says which version runs and that this is well, before what an update to another minor version meets', () => {
  const told = (...others: ReturnType<typeof condition>[]) =>
    versionLines(
      version({
        history: [done],
        conditions: [
          condition('Progressing', 'False', 'Cluster version is 1.0.0'),
          condition('ReleaseAccepted', 'True', ''),
          condition('Failing', 'False', ''),
          ...others,
        ],
      }),
      now,
    );
  const runs = ['Cluster version is 1.0.0', 'Completed 10h ago.'];
  const well = 'Nothing fails, and no update is in progress.';
  assert.deepEqual(told(), [...runs, well]);
  const forbids = `${well} What follows forbids only an update to another minor version.`;
  assert.deepEqual(told(condition('Upgradeable', 'False', 'old zone file', 'Dns')), [
    ...[...runs, forbids, ''],
    ...['Upgradeable=False:', '  Reason: Dns', '  Message: old zone file'],
  ]);
  const unknown = told(condition('RetrievedUpdates', 'False', 'no graph', 'RemoteFailed'));
  assert.deepEqual(unknown.slice(0, 4), [...runs, '', 'RetrievedUpdates=False:']);
});

test('a request that is refused while an update runs does not stall it, and is told as such', () => {
  const asked = { spec: { clusterID: '', desiredUpdate: { version: '1.2.0' } } };
  const refused = [condition('ReleaseAccepted', 'False', 'words', 'PreconditionChecks')];
  const told = (history: object[]) =>
    updateStatus(
      {
        version: { ...version({ history: history as never, conditions: refused }), ...asked },
        operators: [],
        nodes: [],
        updates: [],
      },
      now,
    ).join('\n');
  const running = { ...done, version: '1.1.0', state: 'Partial', completionTime: null };
  assert.match(
    told([running, done]),
    /Warning +None +1\.2\.0, asked for meanwhile, is refused .*this update goes on/,
  );
  assert.match(told([done]), /Warning +Update Stalled +The update to 1\.2\.0 is refused/);
});

test('a request for what the cluster has is none that could be taken back', () => {
  const pending = (desiredUpdate: object) =>
    pendingWish({ ...version({}), spec: { clusterID: '', desiredUpdate } }) !== undefined;
  assert.equal(pending({ version: '1.0.0' }), false);
  assert.equal(pending({ version: '1.0.0', image: image('a') }), false);
  assert.equal(pending({ image: `elsewhere.example/r@${digest('a')}` }), false);
  assert.equal(pending({ version: '1.1.0' }), true);
  assert.equal(pending({ version: '1.0.0', image: image('b') }), true);
});

test('what was said of an earlier request is not told of the one that took its place', () => {
  const refused = [condition('ReleaseAccepted', 'False', 'words', 'PreconditionChecks')];
  const told = (generation: number) => {
    const at = version({ history: [done], conditions: refused });
    const wished = {
      ...at,
      metadata: { ...at.metadata, generation },
      spec: { clusterID: '', desiredUpdate: { version: '1.0.0' } },
    };
    const objects = { version: wished, operators: [], nodes: [], updates: [] };
    return [...versionLines(wished, now), ...updateStatus(objects, now)].join('\n');
  };
  assert.match(told(1), /The update to 1\.0\.0 is refused/);
  assert.doesNotMatch(told(2), /refused/);
});

test('P-128 a request that is looked at or refused is shown, with every reason on its own line', () => {
  const told = versionLines(
    version({
      history: [done],
      conditions: [condition('ReleaseAccepted', 'Unknown', 'Looking\n* a\n* b', 'PreconditionChecks')],
    }),
    now,
  ).join('\n');
  assert.match(
    told,
    /ReleaseAccepted=Unknown:\n {2}Reason: PreconditionChecks\n {2}Message: Looking\n {4}\* a\n {4}\* b/,
  );
});

test('what was forced through is shown', () => {
  assert.match(
    versionLines(version({ history: [{ ...done, acceptedRisks: 'Forced through …' }] }), now).join('\n'),
    /Let through in spite of: Forced through/,
  );
});

for (const [name, before, failing, hold, expected] of [
  ['nothing to reckon by', [done], 'False', undefined, 'no estimate: no update was completed here before'],
  ['an update before', [done, done, done], 'False', undefined, 'Est. Time Remaining: 50m'],
  ['a node that waits for its turn', [done, done, done], 'False', 'fleet_lock', 'Est. Time Remaining: 50m'],
  ['a node that is held', [done, done, done], 'False', 'marker_file', 'no estimate: 1 node is held'],
  ['a rollout that is stuck', [done, done, done], 'True', undefined, 'no estimate: it does not go on'],
  ['a slow one', [done, done, done], 'Unknown', undefined, 'no estimate: it takes longer than expected'],
] as const) {
  test(`how long an update takes still is told only where something bears it: ${name}`, () => {
    const began = { ...done, version: '1.1.0', state: 'Partial', completionTime: null };
    const [first, ...others] = before;
    const entries = [
      { ...began, startedTime: '2026-01-01T13:50:00Z' },
      { ...first, startedTime: '2026-01-01T03:10:00Z' },
      ...others,
    ];
    const objects = {
      version: version({
        history: entries as never,
        desired: { version: '1.1.0', image: image('b') },
        conditions: [condition('Failing', failing, 'words')],
      }),
      operators: [],
      nodes: [
        { metadata: { name: 'm0' }, status: { conditions: [{ type: 'Ready', status: 'True' }] } },
      ] as never,
      updates: [
        {
          metadata: { name: 'm0' },
          spec: { osImage: image('c') },
          status: { holds: hold === undefined ? [] : [{ gate: hold, message: '', since: at }] },
        },
      ] as never,
    };
    assert.match(updateStatus(objects, now).join('\n'), new RegExp(`Duration: +10m \\(${expected}\\)`));
  });
}

const bundle = (release: string, letter: string, where: object) => ({
  name: `b-${release}`,
  version: release,
  bundleDigest: digest('e'),
  payload: digest(letter),
  heldBy: [],
  mountedOn: [],
  ...where,
});
const report = (letter: string, status: NonNullable<UpdatePreflight['status']>) =>
  ({
    metadata: { name: `update-${letter.repeat(12)}` },
    spec: {},
    status: {
      runID: 'r',
      finishedAt: '2026-01-01T13:00:00Z',
      target: { digest: digest(letter) },
      source: { digest: digest('a') },
      checkSet: 'set',
      ...status,
    },
  }) as UpdatePreflight;
const recommendFacts = (accepted: string[] = []) => ({
  version: version({
    availableUpdates: ['b', 'c', 'f'].map((letter) => ({ version: '', image: image(letter) })),
    conditions: [
      condition('Failing', 'False', '', 'AsExpected'),
      condition('Progressing', 'True', 'on its way', 'Applying'),
      condition('Upgradeable', 'False', 'operator dns does not agree', 'Dns'),
    ],
  }),
  bundles: [
    bundle('1.0.9', 'b', { heldBy: ['m0', 'm1', 'm2'] }),
    bundle('1.10.0', 'c', { heldBy: ['m0'], mountedOn: ['m1'] }),
    bundle('1.0.8', 'f', {}),
    bundle('2.0.0', 'd', {}),
    bundle('1.0.0', 'a', {}),
  ],
  preflights: [
    report('b', {
      verdict: 'Blocked',
      checks: [
        { name: 'X', result: 'Risk', component: 'dns', message: 'found' },
        { name: 'Y', result: 'Risk', message: 'taken', accepted: true },
        { name: 'Z', result: 'Error', message: 'no pull' },
        { name: 'W', result: 'Risk', severity: 'warning' },
      ],
    }),
    report('f', { verdict: 'Passed', source: { digest: digest('d') } }),
  ],
  controlPlane: 3,
  accepted: new Set(accepted),
  now,
});

test('every release at hand is listed, newest first, with what is known and what is not', () => {
  const found = recommendations(recommendFacts(['PreflightNotRun']));
  assert.deepEqual(
    found.map((each) => [
      each.version,
      each.content,
      each.preflight,
      each.issues
        .map((issue) => `${issue.name}=${issue.status}${issue.accepted ? ' accepted' : ''}`)
        .join(' '),
    ]),
    [
      ['2.0.0', '', 'not run', 'UpdatePath=True Upgradeable=True PreflightNotRun=Unknown accepted'],
      [
        '1.10.0',
        'on 1 of 3 nodes, on media (m1)',
        'not run',
        'Upgradeable=True PreflightNotRun=Unknown accepted',
      ],
      ['1.0.9', 'on every node', 'Blocked', 'X=True Y=True accepted Z=Unknown'],
      ['1.0.8', '', 'Passed', 'PreflightStale=Unknown'],
    ],
  );
});

test('an older release has the one finding that an update there is refused by, and none where it is let through', () => {
  const { version: at, ...facts } = recommendFacts(['PreflightNotRun']);
  const status = {
    ...at.status,
    desired: { version: '1.1.1', image: image('a') },
    history: [
      { state: 'Completed', version: '1.1.1', image: image('a') },
      { state: 'Completed', version: '1.1.0', image: image('b') },
    ],
  } as NonNullable<ClusterVersion['status']>;
  const bundles = [bundle('1.1.0', 'b', {}), bundle('1.0.9', 'c', {})];
  const found = recommendations({ ...facts, bundles, preflights: [], version: { ...at, status } });
  const open = found.map(({ issues }) => issues.filter((issue) => !issue.accepted).map(({ name }) => name));
  assert.deepEqual(open, [[], ['ClusterVersionRollback', 'Upgradeable']]);
  assert.match(found[1]?.issues[0]?.next ?? '', /--accept ClusterVersionRollback/);
  const taken = { ...report('c', {}), spec: { acceptedRisks: [{ name: 'ClusterVersionRollback' }] } };
  const again = recommendations({ ...facts, bundles, preflights: [taken], version: { ...at, status } });
  assert.equal(again[1]?.issues[0]?.accepted, true, 'somebody has accepted it for this release');
  const lines = recommendLines({ well: [], concerns: [] }, found);
  assert.deepEqual(
    lines.filter((line) => line.endsWith(':')),
    ['Back to 1.1:', 'Back to 1.0:'],
  );
});

test('what of the cluster speaks against any update; what nobody says is unknown', () => {
  const { well, concerns } = clusterConcerns(recommendFacts());
  assert.deepEqual(well, ['nothing fails']);
  assert.deepEqual(
    concerns.map(({ name, status, reason }) => [name, status, reason]),
    [
      ['Progressing', 'True', 'Applying'],
      ['CannotRetrieveUpdates', 'Unknown', 'NotReported'],
    ],
  );
});

test('open issues decide the exit: what is known blocks, what is not is incomplete', () => {
  const issue = (status: 'True' | 'Unknown', accepted = false) => ({
    ...{ name: 'X', reason: 'R', message: '' },
    ...{ status, accepted },
  });
  assert.equal(exitOf([]), 0);
  assert.equal(exitOf([issue('True', true), issue('Unknown', true)]), 0);
  assert.equal(exitOf([issue('True', true), issue('Unknown')]), 5);
  assert.equal(exitOf([issue('True'), issue('Unknown')]), 3);
});

test('a name that is taken and does nothing is told', () => {
  const looked = report('b', {
    verdict: 'Blocked',
    checks: [
      { name: 'LegacyMode', result: 'Risk' },
      { name: 'Pulls', result: 'Error' },
    ],
  });
  const warnings = (name: string, refused: string[] = []) =>
    acceptanceWarnings([name], looked, refused, '1.1.0');
  assert.deepEqual(warnings('LegacyMode'), []);
  assert.deepEqual(warnings('UpdatePath', ['UpdatePath']), []);
  assert.match(
    warnings('Nonsense')[0] ?? '',
    /nothing that was found for 1\.1\.0 is named Nonsense; found: LegacyMode$/,
  );
  assert.match(warnings('Legacymode')[0] ?? '', /did you mean LegacyMode\?/);
  assert.match(warnings('Pulls')[0] ?? '', /could not be looked at/);
  assert.match(warnings('ReleaseSignature')[0] ?? '', /cannot be accepted/);
  assert.match(warnings('ReleaseOpenPGPSignature')[0] ?? '', /cannot be accepted: only --force/);
  assert.match(acceptanceWarnings(['X'], {}, [], '1.1.0')[0] ?? '', /was not looked at yet/);
});

test('accept adds, takes back with a minus, replaces and clears', () => {
  const before = [{ name: 'A' }, { name: 'B', reason: 'r' }];
  assert.deepEqual(acceptedAfter(before, ['C,A', 'B-'], { reason: 'x' }), [
    { name: 'A' },
    { name: 'C', reason: 'x' },
  ]);
  assert.deepEqual(acceptedAfter(before, ['C'], { replace: true }), [{ name: 'C' }]);
  assert.deepEqual(acceptedAfter(before, [], { clear: true }), []);
  assert.throws(() => acceptedAfter(before, ['A', 'A-'], {}), /taken and taken back/);
  assert.throws(() => acceptedAfter(before, ['not a name'], {}), /no name of a risk/);
  assert.throws(() => acceptedAfter(before, [], {}), /which risks/);
});
