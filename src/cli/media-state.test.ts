import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mediaState } from './media-state.ts';

test('beside the signature of a medium stands that a copy at its node has ended by its content', () => {
  const medium = { name: 'ocp-release-bundle-1.1.0-x86_64', verified: true };
  const copy = { release: medium.name, state: 'Failed', reason: 'DigestMismatch' };
  assert.equal(mediaState(medium), 'SignatureVerified');
  assert.equal(mediaState(medium, [copy]), 'SignatureVerified, copy failed: DigestMismatch');
  assert.equal(mediaState(medium, [{ ...copy, state: 'Paused' }]), 'SignatureVerified');
  assert.equal(mediaState(medium, [{ ...copy, release: 'another' }]), 'SignatureVerified');
  assert.equal(
    mediaState({ ...medium, verified: false, reason: 'SignatureMissing' }, [copy]),
    'SignatureMissing',
  );
});
