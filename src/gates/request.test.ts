import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DesiredUpdate, readRequest } from './request.ts';

const b = `quay.example/release@sha256:${'b'.repeat(64)}`;
const c = `mirror.example/release@sha256:${'c'.repeat(64)}`;
const facts = { available: [{ version: '1.1.0', image: b }], history: [{ version: '1.0.0', image: c }] };

// The table of image, version and architecture in the text of the API.
for (const [desired, wanted] of [
  [undefined, 'none'],
  [{}, 'none'],
  [{ image: b, version: '1.1.0', architecture: 'Multi' }, 'cannot set both'],
  [{ image: b, version: '1.1.0' }, 'release'],
  [{ image: b, architecture: 'Multi' }, 'cannot set both'],
  [{ image: b }, 'release'],
  [{ version: '1.1.0', architecture: 'Multi' }, 'another architecture'],
  [{ version: '1.1.0' }, 'release'],
  [{ architecture: 'Multi' }, 'a version must be set'],
  [{ force: true }, 'version or image must be set'],
  [{ version: '1.0.0' }, 'release'],
  [{ version: '1.9.0' }, 'must be an available update; available: 1.1.0'],
  [{ version: '1.1' }, 'not a semantic version'],
  [{ version: 'latest-1.8' }, 'not a semantic version, such as'],
  [{ image: 'quay.example/release:1.1.0' }, 'not accessed via digest'],
  [{ image: 'not an image' }, 'not an image reference'],
] satisfies [DesiredUpdate | undefined, string][]) {
  test(`desiredUpdate ${JSON.stringify(desired) ?? 'absent'}: ${wanted}`, () => {
    const request = readRequest(desired, facts);
    if (wanted === 'none' || wanted === 'release') assert.equal(request.kind, wanted);
    else {
      assert.equal(request.kind, 'invalid');
      assert.match(request.kind === 'invalid' ? request.message : '', new RegExp(wanted));
    }
  });
}

test('P-90 one version by two registries is one payload; two digests are not', () => {
  const mirrored = b.replace('quay.example', 'mirror.example');
  const one = readRequest(
    { version: '1.1.0' },
    {
      available: [
        { version: '1.1.0', image: b },
        { version: '1.1.0', image: mirrored },
      ],
      history: [],
    },
  );
  assert.equal(one.kind, 'release');
  const two = readRequest(
    { version: '1.1.0' },
    {
      available: [
        { version: '1.1.0', image: b },
        { version: '1.1.0', image: c },
      ],
      history: [],
    },
  );
  assert.match(two.kind === 'invalid' ? two.message : '', /multiple possible payloads/);
});

test('mode Preflight never starts an update, and an unknown mode is refused', () => {
  const look = readRequest({ version: '1.1.0', mode: 'Preflight' }, facts);
  assert.equal(look.kind === 'release' && look.lookOnly, true);
  assert.equal(readRequest({ version: '1.1.0', mode: 'Later' }, facts).kind, 'invalid');
});

test('P-98 a label that is no version, and no target at all, are told with what there is', () => {
  const label = readRequest({ version: 'latest-1.8' }, facts);
  assert.match(label.kind === 'invalid' ? label.message : '', /"latest-1\.8" is not a semantic version/);
  const nothing = readRequest({ version: '1.9.0' }, { available: [], history: [] });
  assert.match(nothing.kind === 'invalid' ? nothing.message : '', /none is available: attach media/);
});
