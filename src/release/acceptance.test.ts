import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { needs, sharedData } from '../../tests/tier.ts';
import type { Condition, Node } from '../api/core.ts';
import { aggregate } from './aggregate.ts';
import type { AggregationInput, ReleaseImageStatus } from './report.ts';
import { type MachineConfigNodeView, nodeReport } from './reports.ts';

/**
 * The acceptance scenarios of upstream: what three MachineConfigNodes say, and what InternalReleaseImage must
 * say then. Each begins, as its text does, from a cluster where everything is accessible.
 */
interface Scenario {
  readonly nodes: Map<string, MachineConfigNodeView>;
  readonly notReady: ReadonlySet<string>;
  readonly expected: {
    conditions: Condition[];
    releases: { name: string; image: string; conditions: Condition[] }[];
  };
}

const digest = `sha256:${'4'.repeat(64)}`;
const apiIntHost = 'api-int.<cluster-name>.<base-domain>:22625';

function readScenario(name: string): Scenario {
  const rows = parseCsv(readFileSync(join(sharedData, 'iri-acceptance', `${name}.csv`), 'utf8'));
  const heading = rows.find((row) => row[0] === 'resource');
  assert.ok(heading, `${name} has no heading`);
  const top = rows.findIndex((row) => row[0]?.startsWith('status'));
  const releases = rows.findIndex((row) => row[0]?.startsWith('releases'));
  const column = (index: number) => {
    const cell = (row: number) => rows[row]?.[index] ?? '';
    const at = (row: number): Condition => ({
      type: cell(row),
      status: cell(row + 1) as Condition['status'],
      reason: cell(row + 2),
      message: cell(row + 3),
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
    const conditions = [at(releases + 2), at(releases + 6)];
    const image = cell(releases + 1).replace('<digest>', digest);
    return { own: at(top), release: { name: cell(releases), image, conditions } };
  };
  const nodes = new Map<string, MachineConfigNodeView>();
  const notReady = new Set<string>();
  let expected: Scenario['expected'] | undefined;
  for (const [index, title] of heading.entries()) {
    if (title === 'cluster') {
      const { own, release } = column(index);
      expected = { conditions: [own], releases: [release] };
    } else if (/^master-\d$/.test(title) && !nodes.has(title)) {
      const { own, release } = column(index);
      assert.equal(release.image, `localhost:22625/openshift/release-images@${digest}`);
      nodes.set(title, {
        status: { conditions: [own], internalReleaseImage: { releases: [release] } },
      });
    } else if (/^master-\d$/.test(title)) {
      // The second column of a node is its Node object.
      if (column(index).own.status !== 'True') notReady.add(title);
    }
  }
  assert.ok(expected);
  return { nodes, notReady, expected };
}

/** RFC 4180: quoted cells may hold commas, line breaks and doubled quotes. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r?\n|$)/g)) {
    row.push((quoted?.replaceAll('""', '"') ?? plain ?? '').trim());
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

function inputOf(scenario: Scenario, change: Partial<AggregationInput>): AggregationInput {
  const name = scenario.expected.releases[0]?.name ?? '';
  return {
    spec: [name],
    nodes: [...scenario.nodes].map(([node, machineConfigNode]) =>
      nodeReport({
        node: nodeObject(node, !scenario.notReady.has(node)),
        machineConfigNode,
        nodeUpdate: undefined,
        ping: undefined,
      }),
    ),
    apiInt: { host: apiIntHost, reachable: true },
    inUse: new Map(),
    previous: undefined,
    now: 0,
    ...change,
  };
}

function nodeObject(name: string, ready: boolean): Node {
  const conditions = [{ type: 'Ready', status: ready ? ('True' as const) : ('Unknown' as const) }];
  return { apiVersion: 'v1', kind: 'Node', metadata: { name }, status: { conditions } };
}

function assertAsWritten(status: ReleaseImageStatus, expected: Scenario['expected']): void {
  const plain = ({ type, status: value, reason, message }: Condition) => ({ type, value, reason, message });
  assert.deepEqual(status.conditions.map(plain), expected.conditions.map(plain));
  for (const release of expected.releases) {
    const found = status.releases.find((each) => each.name === release.name);
    for (const condition of release.conditions) {
      const own = found?.conditions.find((each) => each.type === condition.type);
      assert.ok(own, condition.type);
      assert.deepEqual(plain(own), plain(condition));
    }
    assert.equal(found?.image, release.image);
  }
}

const scenarios: readonly { name: string; change: Partial<AggregationInput> }[] = [
  { name: 'happy-path', change: {} },
  { name: 'nodes-not-ready', change: {} },
  { name: 'registry-unavailable-not-on-api-int', change: {} },
  { name: 'registry-unavailable-on-api-int', change: { apiInt: { host: apiIntHost, reachable: false } } },
  { name: 'all-registries-unavailable', change: { apiInt: { host: apiIntHost, reachable: false } } },
];

for (const { name, change } of scenarios) {
  test(`acceptance scenario ${name}`, needs('shared-data'), () => {
    const previous = aggregate(inputOf(readScenario('happy-path'), {}));
    const scenario = readScenario(name);
    assert.equal(scenario.nodes.size, 3);
    const status = aggregate(inputOf(scenario, { ...change, previous }));
    assertAsWritten(status, scenario.expected);
    // D4: looked at again, nothing moves.
    assert.deepEqual(aggregate(inputOf(scenario, { ...change, previous: status, now: 60_000 })), status);
  });
}
