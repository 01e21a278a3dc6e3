import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../object.ts';
import { Resources } from '../resources.ts';
import { ageOf, humanDuration } from './duration.ts';
import { compileJsonPath } from './jsonpath.ts';
import { tableOf } from './table.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

// apimachinery, util/duration/duration_test.go.
const durations: readonly [number, string][] = [
  [-2 * second, '<invalid>'],
  [0, '0s'],
  [second, '1s'],
  [70 * second, '70s'],
  [190 * second, '3m10s'],
  [50 * minute, '50m'],
  [70 * minute, '70m'],
  [10 * hour, '10h'],
  [30 * hour, '30h'],
  [3 * day, '3d'],
  [3 * day + 5 * hour, '3d5h'],
  [30 * day, '30d'],
  [4 * 365 * day + 20 * day, '4y20d'],
  [9 * 365 * day, '9y'],
];

for (const [ms, text] of durations) {
  test(`${ms} ms are ${text}`, () => assert.equal(humanDuration(ms), text));
}

test('an age that is no time is unknown', () => assert.equal(ageOf('soon', 0), '<unknown>'));

const document = {
  metadata: { name: 'n', annotations: { 'example.com/a': 'dotted' } },
  spec: { list: [{ n: 1 }, { n: 2 }, { n: 3 }] },
  status: {
    conditions: [
      { type: 'Ready', status: 'False' },
      { type: 'Available', status: 'True', message: 'a "quoted" text' },
    ],
  },
};

const paths: readonly [string, unknown[]][] = [
  ['.metadata.name', ['n']],
  ['{.metadata.name}', ['n']],
  ['$.metadata.name', ['n']],
  ['.metadata.missing', []],
  ['.status.conditions[?(@.type=="Available")].status', ['True']],
  ["{.status.conditions[?(@.type=='Ready')].status}", ['False']],
  ['.status.conditions[*].type', ['Ready', 'Available']],
  ['.spec.list[0].n', [1]],
  ['.spec.list[-1].n', [3]],
  ['.spec.list[1:].n', [2, 3]],
  ['.spec.list[?(@.n>=2)].n', [2, 3]],
  ["['metadata']['name']", ['n']],
  ['.metadata.annotations.example\\.com/a', ['dotted']],
  ['..status', [document.status, 'False', 'True']],
];

for (const [path, values] of paths) {
  test(`JSONPath ${path}`, () => assert.deepEqual(compileJsonPath(path)(document), values));
}

test('a JSONPath that cannot be read is an error', () => {
  for (const path of ['.a[', '.a[?(x)]', '.a[b]']) assert.throws(() => compileJsonPath(path));
});

const resources = new Resources();
const now = Date.parse('2026-01-01T00:10:00Z');

function row(apiVersion: string, plural: string, object: object): Record<string, unknown> {
  const served = resources.builtIn(apiVersion, plural);
  const metadata = { name: 'x', creationTimestamp: '2026-01-01T00:00:00Z' };
  const full = { apiVersion, kind: served.kind, metadata, ...object } as KubeObject;
  const table = tableOf(served, [full], 'None', now);
  const cells = table.rows[0]?.cells ?? [];
  return Object.fromEntries((table.columnDefinitions ?? []).map(({ name }, at) => [name, cells[at]]));
}

const spec = { containers: [{ name: 'a' }, { name: 'b' }] };

const podCases: readonly [string, object, Record<string, unknown>][] = [
  ['pending', { spec, status: { phase: 'Pending' } }, { Ready: '0/2', Status: 'Pending', Restarts: '0' }],
  [
    'waiting for an image',
    {
      spec,
      status: {
        phase: 'Pending',
        containerStatuses: [
          { name: 'a', state: { waiting: { reason: 'ErrImagePull' } } },
          { name: 'b', state: { waiting: { reason: 'ContainerCreating' } } },
        ],
      },
    },
    { Status: 'ErrImagePull' },
  ],
  [
    'running with a restart',
    {
      spec,
      status: {
        phase: 'Running',
        containerStatuses: [
          { name: 'a', ready: true, state: { running: {} }, restartCount: 0 },
          {
            name: 'b',
            ready: true,
            restartCount: 2,
            state: { running: {} },
            lastState: { terminated: { finishedAt: '2026-01-01T00:05:00Z' } },
          },
        ],
      },
    },
    { Ready: '2/2', Status: 'Running', Restarts: '2 (5m ago)' },
  ],
  [
    'in its init containers',
    {
      spec: { ...spec, initContainers: [{ name: 'i' }, { name: 'j' }] },
      status: {
        phase: 'Pending',
        initContainerStatuses: [
          { name: 'i', state: { terminated: { exitCode: 0 } } },
          { name: 'j', state: { waiting: { reason: 'PodInitializing' } } },
        ],
      },
    },
    { Status: 'Init:1/2' },
  ],
  [
    'failed in an init container',
    {
      spec: { ...spec, initContainers: [{ name: 'i' }] },
      status: {
        phase: 'Failed',
        initContainerStatuses: [{ name: 'i', state: { terminated: { exitCode: 3, reason: 'Error' } } }],
      },
    },
    { Status: 'Init:Error' },
  ],
  [
    'completed',
    {
      spec: { containers: [{ name: 'a' }] },
      status: {
        phase: 'Succeeded',
        containerStatuses: [{ name: 'a', state: { terminated: { exitCode: 0, reason: 'Completed' } } }],
      },
    },
    { Ready: '0/1', Status: 'Completed' },
  ],
  [
    'ended by a signal',
    {
      spec: { containers: [{ name: 'a' }] },
      status: {
        phase: 'Failed',
        containerStatuses: [{ name: 'a', state: { terminated: { exitCode: 137, signal: 9 } } }],
      },
    },
    { Status: 'Signal:9' },
  ],
  [
    'being deleted',
    {
      metadata: {
        name: 'x',
        creationTimestamp: '2026-01-01T00:00:00Z',
        deletionTimestamp: '2026-01-01T00:09:00Z',
      },
      spec,
      status: { phase: 'Running' },
    },
    { Status: 'Terminating' },
  ],
];

for (const [what, object, expected] of podCases) {
  test(`a Pod that is ${what}`, () => {
    const shown = row('v1', 'pods', object);
    for (const [column, value] of Object.entries(expected)) assert.equal(shown[column], value, column);
    assert.equal(shown.Age, '10m');
  });
}

test('a Node shows its roles, readiness and address', () => {
  const shown = row('v1', 'nodes', {
    metadata: {
      name: 'x',
      labels: { 'node-role.kubernetes.io/control-plane': '', 'node-role.kubernetes.io/worker': '' },
    },
    spec: { unschedulable: true },
    status: {
      conditions: [{ type: 'Ready', status: 'True' }],
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      nodeInfo: { kubeletVersion: 'v1.34.0' },
    },
  });
  assert.equal(shown.Status, 'Ready,SchedulingDisabled');
  assert.equal(shown.Roles, 'control-plane,worker');
  assert.equal(shown['Internal-IP'], '10.0.0.1');
  assert.equal(shown.Version, 'v1.34.0');
});

test('a Job shows how far it is', () => {
  const shown = row('batch/v1', 'jobs', {
    spec: { completions: 1, template: { spec: { containers: [{ name: 'c', image: 'i' }] } } },
    status: {
      succeeded: 1,
      startTime: '2026-01-01T00:00:00Z',
      completionTime: '2026-01-01T00:00:07Z',
      conditions: [{ type: 'Complete', status: 'True' }],
    },
  });
  assert.deepEqual(
    [shown.Status, shown.Completions, shown.Duration, shown.Images],
    ['Complete', '1/1', '7s', 'i'],
  );
});

test('every kind of the scope has a table that works on an empty object', () => {
  for (const { versions } of resources.groups()) {
    for (const { resources: all } of versions) {
      for (const served of all) {
        const object = { apiVersion: served.apiVersion, kind: served.kind, metadata: { name: 'x' } };
        const table = tableOf(served, [object], 'Metadata', now);
        assert.equal(table.rows[0]?.cells.length, table.columnDefinitions?.length, served.plural);
      }
    }
  }
});
