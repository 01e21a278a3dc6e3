import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../api/core.ts';
import type { ImageDigestMirrorSet } from '../api/resources.ts';
import { systemClock } from '../observe/clock.ts';
import { createImagePuller } from './image-puller.ts';

const digest = `sha256:${'a'.repeat(64)}` as const;
const mirrorSet = {
  metadata: { name: 'x' },
  spec: {
    imageDigestMirrors: [
      {
        source: 'quay.example/a',
        mirrors: ['10.0.0.1:22625/a', '10.0.0.2:22625/a', 'mirror.example:5000/a'],
      },
    ],
  },
} as unknown as ImageDigestMirrorSet;

/** Which hosts a pull of this image asks, and whether each was told the password. */
async function asked(image: string): Promise<[string, boolean][]> {
  const hosts: [string, boolean][] = [];
  await new Promise<void>((resolve) => {
    const puller = createImagePuller({
      runner: {
        image: async () => undefined,
        async pull(location, trust) {
          assert.equal(trust.caPem, 'ca');
          hosts.push([location.host, trust.auth !== undefined]);
          throw new Error('not here');
        },
      },
      mirrorSets: () => [mirrorSet],
      ownHost: '10.0.0.2:22625',
      commonHost: 'api-int.example:22625',
      trust: () => ({ caPem: 'ca', auth: { username: 'u', password: 'p' } }),
      clock: systemClock,
      signal: new AbortController().signal,
      onChange: () => resolve(),
      event: () => {},
    });
    void puller.ensure({ metadata: { name: 'p', uid: 'u' } } as Pod, { name: 'c', image });
  });
  return hosts;
}

test('the password goes to the registries of the control plane, and to nobody else', async () => {
  assert.deepEqual(await asked(`quay.example/a/b@${digest}`), [
    ['10.0.0.2:22625', true],
    ['10.0.0.1:22625', true],
    ['mirror.example:5000', false],
    ['quay.example', false],
  ]);
  assert.deepEqual(await asked(`api-int.example:22625/x@${digest}`), [['api-int.example:22625', true]]);
  assert.deepEqual(await asked(`thief.example:22625/x@${digest}`), [['thief.example:22625', false]]);
});
