import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Release } from '../gates/target.ts';
import type { Digest } from '../oci/digest.ts';
import { describeSigns, firstRelease, signsOf } from './first.ts';

const digest = (letter: string): Digest => `sha256:${letter.repeat(64)}`;

function release(version: string, os?: Digest): Release {
  const document = { version, ...(os === undefined ? {} : { os: { tag: 'node-os', digest: os } }) };
  return { version, digest: digest('f'), image: '', bundle: { document } } as unknown as Release;
}

const one = release('1.0.0', digest('1'));
const two = release('1.1.0', digest('2'));

test('a new cluster begins with the release that it is installed with', () => {
  assert.equal(firstRelease([one, two], { operatorVersions: [], bootedDigests: [] }), one);
  assert.equal(firstRelease([one, two], { operatorVersions: [], bootedDigests: [digest('1')] }), one);
  assert.equal(firstRelease([one, two], { operatorVersions: ['1.0.0'], bootedDigests: [digest('1')] }), one);
});

test('where the history was lost, the release that runs is begun, never an older one', () => {
  assert.equal(firstRelease([one, two], { operatorVersions: ['1.1.0'], bootedDigests: [digest('2')] }), two);
  assert.equal(firstRelease([one], { operatorVersions: ['1.1.0'], bootedDigests: [digest('2')] }), undefined);
  assert.equal(firstRelease([one], { operatorVersions: [], bootedDigests: [digest('2')] }), undefined);
});

test('a cluster between two releases is neither', () => {
  const mixed = { operatorVersions: ['1.1.0'], bootedDigests: [digest('1'), digest('2')] };
  assert.equal(firstRelease([one, two], mixed), undefined);
  assert.match(describeSigns(mixed), /operators report 1\.1\.0, nodes have booted sha256:1+, sha256:2+/);
});

test('a release without an operating system is known by its operators alone', () => {
  assert.equal(
    firstRelease([release('1.0.0')], { operatorVersions: ['1.0.0'], bootedDigests: [digest('1')] })?.version,
    '1.0.0',
  );
});

test('the signs, from objects', () => {
  const operator = {
    status: {
      versions: [
        { name: 'operator', version: '1.1.0' },
        { name: 'operand', version: '9' },
      ],
    },
  };
  const node = { status: { booted: { image: `api-int:22625/openshift/release@${digest('2')}` } } };
  assert.deepEqual(signsOf([operator, operator, {}] as never, [node, { status: {} }] as never), {
    operatorVersions: ['1.1.0'],
    bootedDigests: [digest('2')],
  });
});
