import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VerifiedBundle } from '../bundle/bundle.ts';
import type { Digest } from '../oci/digest.ts';
import type { AttachedBundle, Attachment } from './attachments.ts';
import { chooseSource, failureOf, type SourceFailure } from './copy-source.ts';
import type { PeerBundle } from './peers.ts';

const name = 'ocp-release-bundle-1.1.0-x86_64';
const digest = (letter: string) => `sha256:${letter.repeat(64)}` as Digest;
const good = digest('a');
const other = digest('b');

function media(bundle: AttachedBundle, path = '/media'): Attachment {
  return { path, state: 'Present', format: 'directory', bundles: [bundle], media: undefined };
}

function verified(bundleDigest = good): AttachedBundle {
  return { name, state: 'Verified', bundle: { digest: bundleDigest } as VerifiedBundle };
}

function peer(node: string, from: PeerBundle['from'], bundleDigest = good): PeerBundle {
  return { node, address: '127.0.0.1', name, bundleDigest, from };
}

function choose(change: Partial<Parameters<typeof chooseSource>[0]>) {
  return chooseSource({
    name,
    bound: undefined,
    inStore: false,
    attachments: [],
    peers: [],
    failures: new Map(),
    now: 1_000_000,
    ...change,
  });
}

const keyOf = (choice: ReturnType<typeof chooseSource>) =>
  choice.choice === 'Ready' ? choice.source.key : choice.choice;

test('own store and media come first, then disks of peers, then media of peers', () => {
  const peers = [peer('master-1', 'store'), peer('master-2', 'media')];
  const attachments = [media(verified())];
  assert.equal(keyOf(choose({ inStore: true, attachments, peers })), 'store');
  assert.equal(keyOf(choose({ attachments, peers })), 'media /media');
  assert.equal(keyOf(choose({ peers })), 'peer master-1 store');
  assert.equal(keyOf(choose({ peers: peers.slice(1) })), 'peer master-2 media');
  assert.equal(keyOf(choose({})), 'None');
});

test('a source that failed waits its turn while another is tried', () => {
  const failure: SourceFailure = { code: 'Unreachable', message: 'silent', count: 1, retryAt: 1_000_500 };
  const peers = [peer('master-1', 'store'), peer('master-2', 'store')];
  const one = new Map([['peer master-1 store', failure]]);
  assert.equal(keyOf(choose({ peers, failures: one })), 'peer master-2 store');
  const both = new Map([...one, ['peer master-2 store', { ...failure, retryAt: 1_000_200 }]]);
  const later = choose({ peers, failures: both });
  assert.ok(later.choice === 'Later' && later.at === 1_000_200);
  assert.equal(keyOf(choose({ peers, failures: both, now: 1_000_300 })), 'peer master-2 store');
});

test('media that are gone are said to be, unless something else carries it', () => {
  const lost = media({ name, state: 'Refused', reason: 'MediaLost', message: 'gone' });
  assert.equal(keyOf(choose({ attachments: [lost] })), 'Lost');
  assert.equal(
    keyOf(choose({ attachments: [lost], peers: [peer('master-1', 'media')] })),
    'peer master-1 media',
  );
});

test('refused media are no source', () => {
  const refused = media({ name, state: 'Refused', reason: 'SignatureUntrusted', message: 'no' });
  assert.equal(keyOf(choose({ attachments: [refused] })), 'None');
});

test('I10 other content under the name is never copied, and different offers are a conflict', () => {
  assert.equal(keyOf(choose({ bound: good, peers: [peer('master-1', 'store', other)] })), 'Conflict');
  const both = [peer('master-1', 'store', other), peer('master-2', 'store')];
  assert.equal(keyOf(choose({ bound: good, peers: both })), 'peer master-2 store');
  const undecided = choose({ peers: both });
  assert.ok(undecided.choice === 'Conflict');
  assert.match(undecided.message, /master-1 .*sha256:b+.*master-2/);
});

test('a way that fails is tried soon and then ever later; wrong content waits for a person', () => {
  let failure: SourceFailure | undefined;
  const waits = Array.from({ length: 9 }, () => {
    failure = failureOf(failure, { code: 'Unreachable', message: '', content: false }, 0);
    return failure.retryAt;
  });
  assert.deepEqual(waits.slice(0, 4), [1_000, 2_000, 4_000, 8_000]);
  assert.equal(waits.at(-1), 60_000);
  assert.equal(
    failureOf(undefined, { code: 'DigestMismatch', message: '', content: true }, 0).retryAt,
    300_000,
  );
});
