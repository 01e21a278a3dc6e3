import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'smol-toml';
import type { ImageDigestMirrorSet } from '../api/resources.ts';
import { registriesConf } from './registries-conf.ts';

type Entries = NonNullable<ImageDigestMirrorSet['spec']['imageDigestMirrors']>;

const setOf = (imageDigestMirrors: Entries): ImageDigestMirrorSet => ({
  apiVersion: 'config.openshift.io/v1',
  kind: 'ImageDigestMirrorSet',
  metadata: { name: 'x' },
  spec: { imageDigestMirrors },
});

/** As plain objects: those of the parser have no prototype. */
const plain = (text: string): unknown => JSON.parse(JSON.stringify(parse(text)));

test('P12 mirrors serve digests; a source that is never contacted is blocked itself, its mirrors are not', () => {
  const text = registriesConf([
    setOf([
      { source: 'quay.io/b', mirrors: ['10.0.0.1:22625/x', '10.0.0.2:22625/x'] },
      { source: 'quay.io/a', mirrors: ['[fd00::1]:22625/x'], mirrorSourcePolicy: 'NeverContactSource' },
    ]),
    setOf([{ source: 'quay.io/b', mirrors: ['10.0.0.2:22625/x', '10.0.0.3:22625/x'] }]),
  ]);
  const mirror = (location: string) => ({ location, 'pull-from-mirror': 'digest-only' });
  assert.deepEqual(plain(text), {
    registry: [
      { location: 'quay.io/a', blocked: true, mirror: [mirror('[fd00::1]:22625/x')] },
      {
        location: 'quay.io/b',
        mirror: ['10.0.0.1:22625/x', '10.0.0.2:22625/x', '10.0.0.3:22625/x'].map(mirror),
      },
    ],
  });
  assert.deepEqual(plain(registriesConf([])), { registry: [] });
});
