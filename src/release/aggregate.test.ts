import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Digest } from '../oci/digest.ts';
import { aggregate } from './aggregate.ts';
import { degradedPrecedence } from './precedence.ts';
import type { AggregationInput, NodeReport, ReleaseImageStatus, ReleaseReport } from './report.ts';

const one = 'ocp-release-bundle-1.0.0-x86_64';
const two = 'ocp-release-bundle-1.1.0-x86_64';
const digest = (letter: string) => `sha256:${letter.repeat(64)}` as Digest;
const now = Date.UTC(2026, 0, 1);

function report(change: Partial<ReleaseReport> = {}): ReleaseReport {
  return {
    name: two,
    bundle: digest('b'),
    payload: digest('2'),
    held: true,
    mounted: false,
    removing: false,
    ...change,
  };
}

function nodes(...releases: (ReleaseReport | undefined)[]): NodeReport[] {
  return releases.map((release, index) => ({
    name: `master-${index}`,
    ready: true,
    registryReachable: true,
    releases: release === undefined ? [] : [release],
  }));
}

function input(change: Partial<AggregationInput>): AggregationInput {
  return {
    spec: [two],
    nodes: nodes(report(), report(), report()),
    apiInt: { host: 'api-int.sluice.internal:22625', reachable: undefined },
    inUse: new Map(),
    previous: undefined,
    now,
    ...change,
  };
}

function condition(status: ReleaseImageStatus, type: string, release = two) {
  const entry = status.releases.find((each) => each.name === release);
  const found = entry?.conditions.find((each) => each.type === type);
  assert.ok(found, `${release} has no condition ${type}`);
  return found;
}

const degraded = (status: ReleaseImageStatus) => {
  const [found] = status.conditions;
  assert.ok(found);
  return found;
};

test('D1 a release that is nowhere makes the object Degraded, with healthy nodes too', () => {
  const status = aggregate(input({ nodes: nodes(undefined, undefined, undefined) }));
  assert.equal(degraded(status).status, 'True');
  assert.equal(degraded(status).reason, 'ReleaseImageNotAvailable');
  assert.match(degraded(status).message, new RegExp(two));
  assert.equal(condition(status, 'Available').status, 'False');
  assert.equal(condition(status, 'Degraded').status, 'True');
});

test('refused media count against a release only while no verified media carry it', () => {
  const problem = { reason: 'SignatureUntrusted', message: '/media/other: signed by a stranger' };
  const refused = report({ held: false, problem });
  const alone = aggregate(input({ nodes: nodes(refused, undefined) }));
  assert.equal(condition(alone, 'Degraded').reason, 'SignatureUntrusted');
  const beside = aggregate(input({ nodes: nodes(refused, report({ held: false, mounted: true })) }));
  assert.equal(condition(beside, 'Degraded').status, 'False');
  assert.equal(condition(beside, 'Installing').reason, 'Waiting');
});

test('D2 two of three nodes are not enough, and the message names the third', () => {
  const status = aggregate(
    input({ nodes: nodes(report(), report({ held: false, mounted: true }), report()) }),
  );
  assert.equal(condition(status, 'Available').status, 'False');
  assert.match(condition(status, 'Available').message, /1 of 3 nodes: \[master-1\]/);
  assert.equal(condition(status, 'Installing').status, 'True');
  assert.equal(degraded(status).status, 'False');
  assert.equal(degraded(status).reason, 'Installing');
});

test('D3 the precedence of reasons holds for every pair', () => {
  // Each reason with an input that causes it; combined, the earlier one of the table must win.
  const causes: Record<string, (base: AggregationInput) => AggregationInput> = {
    SyncError: (base) => ({ ...base, syncError: 'boom' }),
    ApiIntNotAvailable: (base) => ({ ...base, apiInt: { host: 'api-int.x.y:22625', reachable: false } }),
    SomeNodesUnavailable: (base) => ({
      ...base,
      nodes: base.nodes.map((node, index) => (index === 0 ? { ...node, ready: false } : node)),
    }),
    SomeRegistriesUnavailable: (base) => ({
      ...base,
      nodes: base.nodes.map((node, index) => (index === 0 ? { ...node, registryReachable: false } : node)),
    }),
    SomeReleasesDegraded: (base) => ({
      ...base,
      nodes: base.nodes.map((node) => ({
        ...node,
        releases: node.releases.map((release) => ({
          ...release,
          problem: { reason: 'DigestMismatch', message: 'bad' },
        })),
      })),
    }),
    ReleaseImageNotAvailable: (base) => ({ ...base, spec: [...base.spec, one] }),
  };
  const reasons = degradedPrecedence.filter((reason) => reason in causes);
  assert.equal(reasons.length, Object.keys(causes).length);
  for (const [index, first] of reasons.entries()) {
    for (const second of reasons.slice(index)) {
      const both = causes[first]?.(causes[second]?.(input({})) ?? input({}));
      assert.ok(both);
      assert.equal(degraded(aggregate(both)).reason, first, `${first} and ${second}`);
    }
  }
});

test('D4 the same facts give the same bytes, however often and late they are looked at', () => {
  const bad = input({
    nodes: nodes(report({ problem: { reason: 'DiskFull', message: 'full' } }), report(), undefined),
  });
  const first = aggregate(bad);
  const later = aggregate({ ...bad, previous: first, now: now + 3_600_000 });
  assert.deepEqual(later, first);
  const mended = aggregate({ ...input({}), previous: first, now: now + 60_000 });
  assert.equal(condition(mended, 'Degraded').lastTransitionTime, '2026-01-01T00:01:00Z');
  assert.equal(condition(mended, 'Removing').lastTransitionTime, '2026-01-01T00:00:00Z');
});

test('D5 and D6 the image is by digest, is left out while unknown, and is never lost again', () => {
  const unknown = aggregate(input({ nodes: nodes(undefined) }));
  assert.equal(unknown.releases[0]?.image, undefined);
  const known = aggregate(input({}));
  const image = `api-int.sluice.internal:22625/openshift/release-images@${digest('2')}`;
  assert.equal(known.releases[0]?.image, image);
  const outage = aggregate(input({ nodes: nodes(undefined, undefined, undefined), previous: known }));
  assert.equal(outage.releases[0]?.image, image);
});

test('D15 no control-plane node at all is no success', () => {
  const status = aggregate(input({ nodes: [] }));
  assert.equal(degraded(status).reason, 'NoControlPlaneNodes');
  assert.equal(condition(status, 'Available').status, 'False');
});

test('D20 what no node has verified yet is not Available', () => {
  const status = aggregate(input({ nodes: nodes(report(), report({ held: undefined })) }));
  assert.equal(condition(status, 'Available').status, 'Unknown');
});

test('a node that cannot be asked keeps its last verified word', () => {
  const previous = aggregate(input({}));
  const status = aggregate(
    input({ previous, nodes: nodes(report(), report({ held: undefined }), report()) }),
  );
  assert.equal(condition(status, 'Available').status, 'True');
});

test('I10 the same name for different content on two nodes is a conflict, not Available', () => {
  const status = aggregate(input({ nodes: nodes(report(), report({ bundle: digest('c') }), report()) }));
  assert.equal(condition(status, 'Available').status, 'False');
  assert.equal(condition(status, 'Degraded').reason, 'BundleConflict');
  assert.match(condition(status, 'Degraded').message, /master-1 has sha256:c/);
});

test('media are shown before anybody asked for what is on them', () => {
  const status = aggregate(
    input({
      spec: [one],
      nodes: [
        {
          name: 'master-0',
          ready: true,
          registryReachable: true,
          releases: [report({ name: one }), report({ held: false, mounted: true })],
        },
      ],
      updates: new Map([[two, 'An update from 1.0.0 to 1.1.0 is possible']]),
    }),
  );
  const mounted = condition(status, 'Mounted');
  assert.equal(mounted.status, 'True');
  assert.equal(
    mounted.message,
    `Release ${two} discovered on node master-0. An update from 1.0.0 to 1.1.0 is possible`,
  );
  assert.equal(condition(status, 'Installing').status, 'False');
  assert.equal(degraded(status).reason, 'AllReleasesAvailable');
});

test('progress of three nodes is one message', () => {
  const copy = { state: 'Copying' as const, bytesDone: 46, bytesTotal: 100 };
  const copying = report({ held: false, mounted: true, copy });
  const status = aggregate(input({ nodes: nodes(copying, copying, copying) }));
  assert.equal(condition(status, 'Installing').reason, 'Copying');
  assert.equal(condition(status, 'Installing').message, 'Copying to 3 of 3 nodes: 46% (138 B of 300 B)');
});

test('what is wrong is said with the node that says so, once where several say the same', () => {
  const problem = { reason: 'DigestMismatch', message: `image web: blob ${digest('d')} is damaged` };
  const bad = report({ held: false, mounted: true, problem });
  const status = aggregate(input({ nodes: nodes(bad, bad, report()) }));
  assert.equal(condition(status, 'Available').status, 'False');
  assert.equal(condition(status, 'Degraded').message, `master-0, master-1: ${problem.message}`);
  assert.equal(degraded(status).reason, 'SomeReleasesDegraded');
});

test('a release that nobody wants any more is being removed, unless something uses it', () => {
  const free = aggregate(input({ spec: [one], nodes: nodes(report(), report(), undefined) }));
  assert.equal(condition(free, 'Removing').status, 'True');
  assert.match(condition(free, 'Removing').message, /2 of 3 nodes/);
  const used = aggregate(input({ spec: [one], inUse: new Map([[two, 'the cluster runs it']]) }));
  assert.equal(condition(used, 'Removing').status, 'False');
  assert.equal(condition(used, 'Removing').message, 'In use: the cluster runs it');
  const unknown = aggregate(input({ spec: [one], inUse: undefined }));
  assert.equal(condition(unknown, 'Removing').reason, 'InUseUnknown');
});

test('at most 32 entries are shown, those that are asked for first', () => {
  const releases = Array.from({ length: 40 }, (_, index) =>
    report({ name: `ocp-release-bundle-1.${index}.9-x86_64`, held: false, mounted: true }),
  );
  const status = aggregate(
    input({ nodes: [{ name: 'master-0', ready: true, registryReachable: true, releases }] }),
  );
  assert.equal(status.releases.length, 32);
  assert.equal(status.releases[0]?.name, two);
});

test('long lists of nodes are cut, and the rest is counted', () => {
  const many = Array.from({ length: 30 }, (_, index) => ({
    name: `master-${String(index).padStart(2, '0')}`,
    ready: false,
    registryReachable: true,
    releases: [report()],
  }));
  assert.match(degraded(aggregate(input({ nodes: many }))).message, /master-09\] and 20 more\.$/);
});

test('S8 a signature that the cluster refuses is told with the copy, and once the release is held, too', () => {
  const message = 'Its OpenPGP signature does not hold: unable to verify';
  const signatures = new Map([[two, { good: false, message }]]);
  const copying = report({
    held: false,
    copy: { state: 'Copying', bytesDone: 1, bytesTotal: 2, message: undefined },
  });
  const words = new RegExp(`${message}; an update to it is refused unless it is forced$`);
  const during = condition(aggregate(input({ nodes: nodes(copying), signatures })), 'Installing');
  assert.equal(during.reason, 'Copying');
  assert.match(during.message, words);
  const held = condition(aggregate(input({ signatures })), 'Installing');
  assert.equal(held.reason, 'Installed');
  assert.match(held.message, words);
  const mounted = aggregate(input({ nodes: nodes(report({ held: false, mounted: true })), signatures }));
  assert.match(condition(mounted, 'Mounted').message, new RegExp(message));
  const good = aggregate(input({ signatures: new Map([[two, { good: true, message: 'It holds' }]]) }));
  assert.equal(condition(good, 'Installing').message, 'Held whole and verified by 3 of 3 nodes');
});

test('D5 while the platform does not say the shared name, a release has the image that was known, or none', () => {
  const apiInt = { host: undefined, reachable: undefined };
  const first = aggregate(input({ apiInt }));
  assert.equal('image' in (first.releases[0] ?? {}), false);
  const known = aggregate(input({}));
  const later = aggregate(input({ apiInt, previous: known }));
  assert.equal(later.releases[0]?.image, known.releases[0]?.image);
  assert.match(later.releases[0]?.image ?? '', /^api-int\.sluice\.internal:22625\//);
});
