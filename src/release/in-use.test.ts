import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Digest } from '../oci/digest.ts';
import { inUse, inUseData, type KnownRelease, parseInUse, type UsageFacts } from './in-use.ts';

const digest = (letter: string) => `sha256:${letter.repeat(64)}` as Digest;
const image = (letter: string) => `api-int.sluice.internal:22625/openshift/release-images@${digest(letter)}`;

const releases: KnownRelease[] = [
  { name: 'one', version: '1.0.0', payload: digest('1'), images: [digest('a')] },
  { name: 'two', version: '1.1.0', payload: digest('2'), images: [digest('b')] },
  { name: 'three', version: '1.2.0', payload: digest('3'), images: [digest('c')] },
];

function facts(change: {
  history?: { state: string; version: string; image: string }[];
  desired?: { version: string; image: string };
  requested?: { version?: string; image?: string };
  nodes?: { name: string; images: string[] }[];
}): UsageFacts {
  return {
    clusterVersion: {
      desired: change.desired,
      requested: change.requested,
      history: change.history ?? [],
    },
    nodes: change.nodes ?? [],
    releases,
  };
}

const names = (set: ReturnType<typeof inUse>) => [...(set?.names.keys() ?? [])].sort();

test('D9 a partial update keeps everything back to the last completed release', () => {
  const set = inUse(
    facts({
      desired: { version: '1.2.0', image: image('3') },
      history: [
        { state: 'Partial', version: '1.2.0', image: image('3') },
        { state: 'Partial', version: '1.1.0', image: image('2') },
        { state: 'Completed', version: '1.0.0', image: image('1') },
      ],
    }),
  );
  assert.deepEqual(names(set), ['one', 'three', 'two']);
});

test('a completed update frees what came before it', () => {
  const set = inUse(
    facts({
      desired: { version: '1.1.0', image: image('2') },
      history: [
        { state: 'Completed', version: '1.1.0', image: image('2') },
        { state: 'Completed', version: '1.0.0', image: image('1') },
      ],
    }),
  );
  assert.deepEqual(names(set), ['two']);
});

test('a release that was asked for is in use before it is accepted, by version or by digest', () => {
  assert.deepEqual(names(inUse(facts({ requested: { version: '1.2.0' } }))), ['three']);
  assert.deepEqual(names(inUse(facts({ requested: { image: image('3') } }))), ['three']);
});

test('a digest decides over a version that says otherwise', () => {
  assert.deepEqual(names(inUse(facts({ desired: { version: '1.0.0', image: image('2') } }))), ['two']);
});

test('G4 a node that still runs the OS image of an older release keeps it', () => {
  const set = inUse(
    facts({
      desired: { version: '1.1.0', image: image('2') },
      history: [{ state: 'Completed', version: '1.1.0', image: image('2') }],
      nodes: [{ name: 'master-0', images: [`x/y@${digest('a')}`] }],
    }),
  );
  assert.deepEqual(names(set), ['one', 'two']);
  assert.match(set?.names.get('one') ?? '', /master-0/);
});

test('an OS image that the running release shares does not keep the older one', () => {
  const shared: UsageFacts = {
    ...facts({
      desired: { version: '1.1.0', image: image('2') },
      nodes: [{ name: 'master-0', images: [`x/y@${digest('a')}`] }],
    }),
    releases: releases.map((release) => ({ ...release, images: [digest('a')] })),
  };
  assert.deepEqual(names(inUse(shared)), ['two']);
});

test('a running OS image that no read document explains makes the set unknown', () => {
  const nodes = [{ name: 'master-0', images: [`x/y@${digest('d')}`] }];
  assert.ok(inUse({ ...facts({}), nodes }));
  const unread = [...releases, { name: 'four', version: '1.3.0', payload: digest('4'), images: [] }];
  assert.equal(inUse({ ...facts({}), nodes, releases: unread }), undefined);
});

test('D7 what cannot be read makes the whole set unknown, and unknown survives the ConfigMap', () => {
  assert.equal(inUse({ ...facts({}), clusterVersion: undefined }), undefined);
  assert.equal(inUse({ ...facts({}), nodes: undefined }), undefined);
  assert.equal(parseInUse(inUseData(undefined)), undefined);
  assert.equal(parseInUse(undefined), undefined);
  assert.equal(parseInUse({ state: 'Known', names: 'a', digests: '', reasons: 'not json' }), undefined);
});

test('the set travels through the ConfigMap unchanged, and equal sets are equal texts', () => {
  const set = inUse(
    facts({ desired: { version: '1.1.0', image: image('2') }, requested: { version: '1.0.0' } }),
  );
  assert.deepEqual(parseInUse(inUseData(set)), set);
  assert.equal(inUseData(set).names, 'one,two');
});
