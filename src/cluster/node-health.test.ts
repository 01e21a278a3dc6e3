import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Pod, Taint, Toleration } from '../api/core.ts';
import { driveOut, signOfLife, silentConditions, taintsOf } from './node-health.ts';

const now = Date.parse('2026-01-01T00:10:00Z');
const at = (seconds: number) => new Date(now + seconds * 1000).toISOString().replace('.000', '');

function node(ready: string | undefined, spec: Node['spec'] = {}): Node {
  const conditions =
    ready === undefined
      ? []
      : [
          { type: 'Ready', status: ready as 'True', reason: 'KubeletReady', lastHeartbeatTime: at(-60) },
          { type: 'DiskPressure', status: 'False' as const },
          { type: 'Custom', status: 'True' as const },
        ];
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec, status: { conditions } };
}

test('a silent node: what it reported is unknown, the rest stays', () => {
  const silent = silentConditions(node('True'), now);
  assert.deepEqual(
    silent.map(({ type, status, reason }) => [type, status, reason]),
    [
      ['Ready', 'Unknown', 'NodeStatusUnknown'],
      ['DiskPressure', 'Unknown', 'NodeStatusUnknown'],
      ['Custom', 'True', undefined],
    ],
  );
  assert.equal(silent[0]?.lastHeartbeatTime, at(-60), 'when it was heard of last is kept');
  const said = { ...node('True'), status: { conditions: [...silent] } };
  assert.equal(silentConditions(said, now), said.status.conditions, 'said once');
  assert.equal(silentConditions(node(undefined), now)[0]?.reason, 'NodeStatusNeverUpdated');
});

test('a sign of life is a renewed lease or a newer heartbeat', () => {
  const lease = (renewTime: string) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'n' },
    spec: { renewTime },
  });
  const signs = [
    signOfLife(node('True'), undefined),
    signOfLife(node(undefined), undefined),
    signOfLife(node('True'), lease(at(-5))),
    signOfLife(node('True'), lease(at(-4))),
  ];
  assert.equal(new Set(signs).size, signs.length);
});

test('the taints that follow from how a node stands', () => {
  const foreign: Taint = { key: 'role', value: 'db', effect: 'NoExecute' };
  const shown = (taints: readonly Taint[]) => taints.map(({ key, effect }) => `${key}:${effect}`);
  const base = 'node.kubernetes.io';
  const table: [Node, string[]][] = [
    [node('True'), []],
    [node(undefined), []],
    [node('True', { taints: [foreign] }), ['role:NoExecute']],
    [node('True', { unschedulable: true }), [`${base}/unschedulable:NoSchedule`]],
    [node('False'), [`${base}/not-ready:NoSchedule`, `${base}/not-ready:NoExecute`]],
    [
      node('Unknown', { taints: [foreign] }),
      ['role:NoExecute', `${base}/unreachable:NoSchedule`, `${base}/unreachable:NoExecute`],
    ],
    [
      node('True', {
        taints: [
          { key: `${base}/unreachable`, effect: 'NoExecute' },
          { key: `${base}/unschedulable`, effect: 'NoSchedule' },
          foreign,
        ],
      }),
      ['role:NoExecute'],
    ],
  ];
  for (const [given, wanted] of table) assert.deepEqual(shown(taintsOf(given, now)), wanted);
  const tainted = node('Unknown');
  tainted.spec = { taints: [...taintsOf(tainted, now)] };
  assert.equal(taintsOf(tainted, now + 60_000), tainted.spec.taints, 'what stands is left alone');
  tainted.spec.unschedulable = true;
  const since = taintsOf(tainted, now + 60_000).find(({ effect }) => effect === 'NoExecute');
  assert.equal(since?.timeAdded, at(0), 'a taint keeps its age');
});

test('whom a taint drives out, and when', () => {
  const pod = (name: string, tolerations: Toleration[] = [], more: Partial<Pod> = {}): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [], nodeName: 'n', tolerations },
    ...more,
  });
  const unreachable: Taint = {
    key: 'node.kubernetes.io/unreachable',
    effect: 'NoExecute',
    timeAdded: at(-200),
  };
  const foreign: Taint = { key: 'role', value: 'db', effect: 'NoExecute', timeAdded: at(-200) };
  const forSeconds = (key: string, tolerationSeconds?: number): Toleration => ({
    key,
    operator: 'Exists',
    ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
  });
  const table: [what: string, Taint, Pod, wanted: number | 'now' | 'never'][] = [
    ['five minutes where nothing is said', unreachable, pod('p'), 100_000],
    ['as long as it says', unreachable, pod('p', [forSeconds(unreachable.key, 250)]), 50_000],
    ['its time is over', unreachable, pod('p', [forSeconds(unreachable.key, 30)]), 'now'],
    ['for ever', unreachable, pod('p', [forSeconds(unreachable.key)]), 'never'],
    ["somebody's own taint at once", foreign, pod('p'), 'now'],
    ['borne', foreign, pod('p', [forSeconds('role')]), 'never'],
    ['only NoExecute drives out', { ...foreign, effect: 'NoSchedule' }, pod('p'), 'never'],
    ['ended', foreign, pod('p', [], { status: { phase: 'Succeeded' } }), 'never'],
    ['elsewhere', foreign, pod('p', [], { spec: { containers: [], nodeName: 'm' } }), 'never'],
    ['going', foreign, pod('p', [], { metadata: { name: 'p', deletionTimestamp: at(0) } }), 'never'],
  ];
  for (const [what, taint, there, wanted] of table) {
    const { pods, nextMs } = driveOut(node('Unknown', { taints: [taint] }), [there], now);
    assert.equal(pods.length > 0 ? 'now' : (nextMs ?? 'never'), wanted, what);
  }
});
