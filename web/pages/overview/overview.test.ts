import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node } from '../../../src/api/core.ts';
import { labels } from '../../../src/api/names.ts';
import type {
  ClusterOperator,
  ClusterVersion,
  ClusterVersionStatus,
  NodeUpdate,
  NodeUpdateStatus,
} from '../../../src/api/resources.ts';
import { type Facts, openRequest, situationOf } from '../../data/facts.ts';
import { statementOf } from '../../words/statement.ts';
import { problemsOf } from './problems.ts';
import { stepsOf } from './steps.ts';

const time = '2026-11-30T00:00:00Z';
const now = Date.parse('2026-11-30T02:00:00Z');
const digest = (character: string) => `sha256:${character.repeat(64)}`;
const image = (character: string) => `example.com/release@${digest(character)}`;

function entry(state: string, version: string, character: string) {
  const completionTime = state === 'Completed' ? time : null;
  return { state, version, image: image(character), startedTime: time, completionTime, verified: true };
}

function version(
  status: Partial<ClusterVersionStatus>,
  spec: Partial<ClusterVersion['spec']> = {},
): ClusterVersion {
  return {
    apiVersion: 'config.openshift.io/v1',
    kind: 'ClusterVersion',
    metadata: { name: 'version', generation: 2 },
    spec: { clusterID: 'x', ...spec },
    status: {
      desired: { version: '1.0.0', image: image('a') },
      history: [entry('Completed', '1.0.0', 'a')],
      observedGeneration: 2,
      versionHash: '',
      availableUpdates: [],
      ...status,
    },
  };
}

function update(name: string, status: NodeUpdateStatus): NodeUpdate {
  return { apiVersion: 'sluice.dev/v1', kind: 'NodeUpdate', metadata: { name }, spec: {}, status };
}

const node = (name: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { [labels.controlPlane]: '' } },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
});

const held = (release: string, character: string) => ({
  name: `ocp-release-bundle-${release}-x86_64`,
  bundleDigest: digest(character.toUpperCase()),
  version: release,
  payload: digest(character),
});

const facts = (more: Partial<Facts>): Facts => ({
  version: version({}),
  images: undefined,
  operators: [],
  nodes: [node('master-0'), node('master-1')],
  updates: [],
  preflights: [],
  locks: [],
  ...more,
});

const accepted = (status: 'True' | 'False' | 'Unknown', message: string) => ({
  type: 'ReleaseAccepted',
  status,
  message,
  lastTransitionTime: time,
});
const wish = { desiredUpdate: { version: '1.1.0', image: image('b') } };
const refusal = `Preconditions failed for payload loaded version="1.1.0" image="x": Precondition "EvictionPolicyRemoved" failed because of "cache": random is gone\n  Next: set it to lru`;

describe('where the cluster stands', () => {
  test('nothing is known before there is a history', () => {
    assert.equal(situationOf({ version: undefined, updates: [] }).kind, 'unknown');
    assert.equal(situationOf({ version: version({ history: [] }), updates: [] }).kind, 'unknown');
  });

  test('the newest release that is at hand is the next one, and an older one is not', () => {
    const store = [held('1.0.0', 'a'), held('1.2.0', 'c'), held('1.1.0', 'b'), held('0.9.0', 'd')];
    const found = situationOf({ version: version({}), updates: [update('master-0', { store })] });
    assert.equal(found.kind === 'idle' && found.next?.version, '1.2.0');
  });

  test('a request is told apart from an update, by the digest', () => {
    const asked = version({ conditions: [accepted('False', refusal)] }, wish);
    assert.deepEqual(situationOf({ version: asked, updates: [] }), {
      kind: 'asked',
      version: '1.0.0',
      to: '1.1.0',
      refused: true,
      message: refusal,
      since: time,
    });
    const begun = version(
      {
        desired: { version: '1.1.0', image: `elsewhere.example.com/x@${digest('b')}` },
        history: [entry('Partial', '1.1.0', 'b'), entry('Completed', '1.0.0', 'a')],
      },
      wish,
    );
    assert.deepEqual(situationOf({ version: begun, updates: [] }), {
      kind: 'updating',
      from: '1.0.0',
      to: '1.1.0',
      since: time,
      other: undefined,
    });
  });

  test('a request that is refused while an update runs stands beside it, and does not stop it', () => {
    const both = version(
      {
        desired: { version: '1.1.0', image: image('b') },
        history: [entry('Partial', '1.1.0', 'b'), entry('Completed', '1.0.0', 'a')],
        conditions: [accepted('False', refusal)],
      },
      { desiredUpdate: { version: '1.2.0', image: image('c') } },
    );
    const found = situationOf({ version: both, updates: [] });
    assert.equal(statementOf(found), 'The cluster is going from 1.0.0 to 1.1.0');
    assert.equal(openRequest(found)?.to, '1.2.0');
    const [problem] = problemsOf(facts({ version: both }), now);
    assert.equal(problem?.level, 'warning');
    assert.equal(problem?.title, '1.2.0, which is asked for too, is refused; the update to 1.1.0 goes on');
  });

  test('what was said of an earlier request is no refusal of this one; a dry run is no request', () => {
    const conditions = [accepted('False', refusal)];
    const fresh = version({ observedGeneration: 1, conditions }, wish);
    const found = situationOf({ version: fresh, updates: [] });
    assert.ok(found.kind === 'asked' && !found.refused && found.message === '');
    const look = version({ conditions }, { desiredUpdate: { ...wish.desiredUpdate, mode: 'Preflight' } });
    assert.equal(situationOf({ version: look, updates: [] }).kind, 'idle');
  });
});

describe('what needs attention', () => {
  test('nothing, where nothing is wrong', () => {
    assert.deepEqual(problemsOf(facts({}), now), []);
  });

  test('a refusal tells each finding with what to do, worst first', () => {
    const asked = version({ conditions: [accepted('False', refusal)] }, wish);
    const media = [{ name: 'x', path: '/media', verified: false, message: 'unsigned' }];
    const found = problemsOf(facts({ version: asked, updates: [update('master-0', { media })] }), now);
    assert.deepEqual(
      found.map(({ id, level }) => `${level} ${id}`),
      ['danger refused', 'warning media-master-0-x-/media'],
    );
    assert.equal(found[0]?.detail, 'EvictionPolicyRemoved: random is gone\nNext: set it to lru');
    assert.deepEqual(found[0]?.next, {
      text: 'See what is in the way',
      to: { page: 'update', target: '1.1.0' },
    });
  });

  test('a report against a release is trouble while that release is asked for, until the refusal tells it', () => {
    const report = (target: string, character: string): Facts['preflights'][number] => ({
      apiVersion: 'sluice.dev/v1',
      kind: 'UpdatePreflight',
      metadata: { name: `to-${target}` },
      spec: { version: target },
      status: {
        verdict: 'Blocked',
        message: 'stand against it',
        target: { version: target, digest: digest(character) },
      } as never,
    });
    const ids = (cluster: ClusterVersion) =>
      problemsOf(
        facts({ version: cluster, preflights: [report('1.1.0', 'b'), report('0.9.0', 'd')] }),
        now,
      ).map(({ id }) => id);
    assert.deepEqual(ids(version({})), []);
    assert.deepEqual(ids(version({ conditions: [accepted('Unknown', 'Looking')] }, wish)), [
      'preflight-to-1.1.0',
    ]);
    assert.deepEqual(ids(version({ conditions: [accepted('False', refusal)] }, wish)), ['refused']);
  });

  test('nodes that one gate holds are one problem, since the first of them', () => {
    const hold = (gate: string, since: string) => ({
      staged: { version: '1.1.0' },
      holds: [{ gate, reason: 'X', message: 'closed', since }],
    });
    const updates = [
      update('a', hold('marker_file', '2026-11-30T01:00:00Z')),
      update('b', hold('marker_file', '2026-11-30T00:30:00Z')),
      update('c', hold('fleet_lock', time)),
      // Held by something, but with nothing to boot: that is no problem of anybody.
      update('d', { holds: [{ gate: 'staged', reason: 'X', message: '', since: time }] }),
    ];
    const found = problemsOf(facts({ updates }), now);
    assert.deepEqual(
      found.map(({ level, title, since }) => [level, title, since]),
      [
        ['warning', '2 nodes are staged and held by a closed window', '2026-11-30T00:30:00Z'],
        ['info', '1 node is staged and held by the reboot slot', time],
      ],
    );
    assert.deepEqual(found[0]?.next, {
      text: 'Open a window',
      window: ['a', 'b'],
      to: { page: 'nodes', filter: 'marker_file' },
    });
  });

  test('a node that reboots is not ready, and that is no problem', () => {
    const down: Node = {
      ...node('master-0'),
      status: { conditions: [{ type: 'Ready', status: 'Unknown' }] },
    };
    const rebooting = facts({ nodes: [down], updates: [update('master-0', { state: 'Finalizing' })] });
    assert.deepEqual(problemsOf(rebooting, now), []);
    assert.equal(problemsOf(facts({ nodes: [down] }), now)[0]?.id, 'ready-master-0');
  });

  test('a slot that is held for too long, by the rule of its group', () => {
    const lock = {
      apiVersion: 'sluice.dev/v1',
      kind: 'FleetLockGroup',
      metadata: { name: 'default' },
      spec: { overdueSeconds: 3_600 },
      status: { holders: [{ id: 'x', node: 'master-0', since: time, state: 'Granted' as const }] },
    };
    assert.equal(problemsOf(facts({ locks: [lock] }), now)[0]?.id, 'lock-x');
    assert.deepEqual(problemsOf(facts({ locks: [lock] }), Date.parse(time) + 3_000_000), []);
  });
});

describe('the way of an update', () => {
  const statesOf = (given: Facts) => stepsOf(given).map(({ name, state }) => `${name} ${state}`);
  const operator = (reported: string): ClusterOperator => ({
    apiVersion: 'config.openshift.io/v1',
    kind: 'ClusterOperator',
    metadata: { name: 'cache' },
    spec: {},
    status: { versions: [{ name: 'operator', version: reported }] },
  });
  const begun = version(
    {
      desired: { version: '1.1.0', image: image('b') },
      history: [entry('Partial', '1.1.0', 'b'), entry('Completed', '1.0.0', 'a')],
    },
    wish,
  );

  test('a copy tells how far it is, over all nodes', () => {
    const copies = (bytesDone: number) => [
      { release: 'ocp-release-bundle-1.1.0-x86_64', state: 'Copying', bytesDone, bytesTotal: 100 },
    ];
    const media = [{ ...held('1.1.0', 'b'), verified: true }];
    const copied = facts({
      updates: [
        update('master-0', { media, copies: copies(60) }),
        update('master-1', { copies: copies(20) }),
      ],
    });
    const step = stepsOf(copied)[1];
    assert.equal(step?.state, 'current');
    assert.match(step?.detail ?? '', /^40 % copied/);
  });

  test('it is at the step that is under way; what lies behind is done', () => {
    const store = [held('1.1.0', 'b')];
    const staged = { store, staged: { version: '1.1.0' }, booted: { version: '1.0.0' } };
    const applying = facts({
      version: begun,
      operators: [operator('1.0.0')],
      updates: [update('master-0', { store }), update('master-1', { store })],
    });
    assert.deepEqual(statesOf(applying).slice(3), [
      'accepted done',
      'applied current',
      'rebooted waiting',
      'completed waiting',
    ]);
    const rebooting = facts({
      version: begun,
      operators: [operator('1.1.0')],
      updates: [update('master-0', staged), update('master-1', { store, booted: { version: '1.1.0' } })],
    });
    assert.deepEqual(statesOf(rebooting), [
      'media done',
      'copied done',
      'requested done',
      'accepted done',
      'applied done',
      'rebooted current',
      'completed waiting',
    ]);
    assert.match(stepsOf(rebooting)[5]?.detail ?? '', /^1 of 2 nodes runs it/);
  });

  test('a request that is refused stops at the gates', () => {
    const asked = version({ conditions: [accepted('False', refusal)] }, wish);
    const step = stepsOf(facts({ version: asked }))[3];
    assert.equal(step?.state, 'trouble');
    assert.equal(step?.detail, 'Refused: EvictionPolicyRemoved.');
  });
});
