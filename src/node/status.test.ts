import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VerifiedBundle } from '../bundle/bundle.ts';
import type { WholeRecord } from '../copy/whole.ts';
import type { Digest } from '../oci/digest.ts';
import type { CopyView } from './copy-view.ts';
import { type ContentState, machineConfigNodeContent, nodeUpdateStatus, withCondition } from './status.ts';

const one = 'ocp-release-bundle-1.0.0-x86_64';
const two = 'ocp-release-bundle-1.1.0-x86_64';
const digest = (letter: string) => `sha256:${letter.repeat(64)}` as Digest;

function bundle(version: string, letter: string): VerifiedBundle {
  return { digest: digest(letter), document: { version, payload: digest(letter) } } as VerifiedBundle;
}

function record(name: string, version: string, letter: string): [string, WholeRecord] {
  const verifiedAt = '2026-01-01T00:00:00Z';
  return [name, { formatVersion: 1, name, bundle: bundle(version, letter), bytes: 100, verifiedAt }];
}

function state(change: Partial<ContentState>): ContentState {
  return {
    nodeName: 'master-0',
    desired: [one],
    records: new Map([record(one, '1.0.0', '1')]),
    removing: new Set(),
    attachments: [],
    copies: [],
    problems: new Map(),
    registryDown: undefined,
    ...change,
  };
}

const content = (change: Partial<ContentState>, previous = { conditions: [], releases: [] }, now = 0) =>
  machineConfigNodeContent(state(change), previous, 22625, now);

function condition(of: ReturnType<typeof content>, release: string, type: string) {
  const found = of.releases
    .find((each) => each.name === release)
    ?.conditions.find((each) => each.type === type);
  assert.ok(found, `${release} ${type}`);
  return found;
}

function copy(change: Partial<CopyView>): CopyView {
  return {
    release: two,
    bundleDigest: digest('2'),
    state: 'Copying',
    reason: undefined,
    message: undefined,
    progress: {
      phase: 'Copying',
      bytesDone: 46,
      bytesTotal: 100,
      bytesWritten: 46,
      imagesDone: 1,
      imagesTotal: 3,
    },
    rate: 10,
    degraded: false,
    ...change,
  };
}

test('a held release is said in upstream words', () => {
  const said = content({});
  const [release] = said.releases;
  assert.equal(release?.image, `localhost:22625/openshift/release-images@${digest('1')}`);
  assert.equal(said.degraded.reason, 'AllReleasesAvailable');
  assert.equal(said.degraded.message, 'All the release images are available');
  const available = condition(said, one, 'Available');
  assert.deepEqual(
    [available.status, available.reason, available.message],
    ['True', 'ReleaseImageAvailable', 'The specified release image is available'],
  );
  assert.deepEqual(
    [condition(said, one, 'Degraded').status, condition(said, one, 'Degraded').message],
    ['False', 'ReleaseImageAvailable'],
  );
});

test('a registry that does not answer is said in upstream words', () => {
  const said = content({ registryDown: 'registry query: connect ECONNREFUSED' });
  assert.equal(said.degraded.reason, 'RegistryUnreachable');
  assert.equal(condition(said, one, 'Available').reason, 'RegistryUnreachable');
  assert.equal(
    condition(said, one, 'Available').message,
    'Release bundle is unavailable: failed to reach the registry',
  );
  assert.equal(condition(said, one, 'Degraded').message, 'registry query: connect ECONNREFUSED');
});

test('a copy shows its progress, and why it stands still', () => {
  const moving = content({ desired: [one, two], copies: [copy({})] });
  assert.equal(condition(moving, two, 'Installing').message, 'Copying to 1 of 1 nodes: 46% (46 B of 100 B)');
  assert.equal(condition(moving, two, 'Degraded').status, 'False');
  assert.equal(moving.degraded.reason, 'Installing');
  const paused = content({
    desired: [one, two],
    copies: [copy({ state: 'Paused', reason: 'MediaLost', message: 'gone', degraded: true })],
  });
  assert.equal(condition(paused, two, 'Installing').reason, 'MediaLost');
  assert.equal(condition(paused, two, 'Degraded').reason, 'MediaLost');
  assert.equal(paused.degraded.message, `${two}: gone`);
  const failed = content({
    desired: [one, two],
    copies: [copy({ state: 'Failed', reason: 'DigestMismatch', message: 'image web: bad', degraded: true })],
  });
  assert.equal(condition(failed, two, 'Installing').status, 'False');
  assert.equal(condition(failed, two, 'Degraded').message, 'image web: bad');
});

test('refused media are named where their release is wanted, and only a conflict where it is held', () => {
  const attached = (name: string, reason: string) => ({
    attachments: [
      {
        path: '/media',
        state: 'Present' as const,
        format: 'iso',
        media: undefined,
        bundles: [{ name, state: 'Refused' as const, reason, message: 'no' }],
      },
    ],
  });
  const wanted = content({ desired: [one, two], ...attached(two, 'SignatureUntrusted') });
  assert.deepEqual(
    [condition(wanted, two, 'Degraded').reason, condition(wanted, two, 'Degraded').message],
    ['SignatureUntrusted', '/media: no'],
  );
  assert.equal(content(attached(two, 'SignatureUntrusted')).releases.length, 1);
  assert.equal(condition(content(attached(one, 'SignatureMissing')), one, 'Degraded').status, 'False');
  assert.equal(condition(content(attached(one, 'BundleConflict')), one, 'Degraded').reason, 'BundleConflict');
});

test('the same state gives the same words later, and an image is not forgotten', () => {
  const first = content({});
  const previous = { conditions: [first.degraded], releases: first.releases as never[] };
  assert.deepEqual(content({}, previous as never, 60_000), first);
  const emptied = content({ records: new Map() }, previous as never, 60_000);
  assert.equal(emptied.releases[0]?.image, first.releases[0]?.image);
});

test('NodeUpdate keeps to the limits of its schema', () => {
  const message = 'x'.repeat(10_000);
  const status = nodeUpdateStatus(
    state({
      attachments: Array.from({ length: 40 }, (_, index) => ({
        path: `/media/${index}`,
        state: 'Present' as const,
        format: 'iso',
        media: undefined,
        bundles: [
          { name: `${two}${'y'.repeat(80)}`, state: 'Refused' as const, reason: 'Internal', message },
        ],
      })),
      copies: [copy({ message })],
    }),
  );
  assert.equal(status.media.length, 32);
  assert.equal(status.media[0]?.name.length, 64);
  assert.equal(status.media[0]?.message?.length, 4096);
  assert.equal(status.copies[0]?.message?.length, 4096);
  assert.deepEqual(status.store[0], {
    name: one,
    bundleDigest: digest('1'),
    version: '1.0.0',
    payload: digest('1'),
    bytes: 100,
    verifiedAt: '2026-01-01T00:00:00Z',
  });
});

test('conditions of others stay where they are', () => {
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  const make = (type: string, reason: string) => ({
    type,
    reason,
    status: 'True' as const,
    message: '',
    lastTransitionTime,
  });
  const standing = [make('Updated', 'A'), make('InternalReleaseImageDegraded', 'B'), make('Other', 'C')];
  const after = withCondition(standing, make('InternalReleaseImageDegraded', 'D'));
  assert.deepEqual(
    after.map((each) => each.reason),
    ['A', 'D', 'C'],
  );
});
