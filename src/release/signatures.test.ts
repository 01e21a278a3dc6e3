import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeRelease, type TestRelease, testKey } from '../../tests/bundles.ts';
import { startTestCluster, type TestCluster } from '../../tests/cluster.ts';
import { type Gpg, releaseClaim, startGpg } from '../../tests/gpg.ts';
import { needs } from '../../tests/tier.ts';
import { names } from '../api/names.ts';
import { buildBundle } from '../build/bundle.ts';
import { openBundle } from '../bundle/bundle.ts';
import type { BundleDocument } from '../bundle/document.ts';
import { readReleaseKeys, signatureWord } from '../gates/release-keys.ts';
import { createReleases } from '../gates/target.ts';
import { type Media, openMedia } from '../media/media.ts';
import { systemClock } from '../observe/clock.ts';
import { silentLogger } from '../observe/log.ts';
import type { Digest } from '../oci/digest.ts';
import { createReleaseSignatures } from './signatures.ts';

const key = testKey();
const { configManagedNamespace: namespace } = names('standalone');
const label = 'release.openshift.io/verification-signatures';
let dir: string;
let cluster: TestCluster;
let gpg: Gpg;
let releaseKeys: string;
let release: TestRelease;
let media: Media;
let document: BundleDocument;
let now: number;

before(async () => {
  if (needs('gpg').skip !== undefined) return;
  dir = await mkdtemp(join(tmpdir(), 'sluice-signatures-'));
  cluster = await startTestCluster();
  await cluster.client.create(cluster.client.kinds.Namespace, { metadata: { name: namespace } });
  gpg = await startGpg();
  releaseKeys = String((await gpg.makeKey('release')).keys);
  release = await makeRelease({ version: '1.1.0', dir, key: key.pair });
  const place = join(dir, 'store', release.payload.replace(':', '='));
  await mkdir(place, { recursive: true });
  await writeFile(join(place, 'signature-1'), await gpg.sign('release', releaseClaim(release.payload)));
  const built = await buildBundle({
    payload: release.payloadSource,
    images: release.sources,
    privatePem: key.pair.privatePem,
    out: join(dir, 'signed'),
    releaseSignatures: { stores: [join(dir, 'store')], keyrings: [], env: {} },
  });
  now = Date.now(); // Not before the signature was made.
  media = await openMedia(join(dir, 'signed'));
  document = (await openBundle(media.content, { digest: built.digest }, [key.trusted])).document;
});

after(async () => {
  await media?.close();
  await gpg?.close();
  await cluster?.close();
  if (dir !== undefined) await rm(dir, { recursive: true, force: true });
});

const keeper = () =>
  createReleaseSignatures({
    client: cluster.client,
    content: media.content,
    clock: { ...systemClock, now: () => now },
    logger: silentLogger,
  });

async function setKeyrings(data: Record<string, string>): Promise<void> {
  const { ConfigMap } = cluster.client.kinds;
  await cluster.client.delete(ConfigMap, 'release-verification', { namespace }).catch(() => {});
  await cluster.client.create(ConfigMap, {
    metadata: {
      name: 'release-verification',
      namespace,
      annotations: { 'release.openshift.io/verification-config-map': '' },
    },
    data,
  });
}

async function written() {
  const { items } = await cluster.client.list(cluster.client.kinds.ConfigMap, { namespace });
  return items.filter((each) => each.metadata.labels?.[label] !== undefined);
}

test('S8 without keyrings in the cluster nothing is said, and nothing is written', needs('gpg'), async () => {
  assert.equal((await keeper().keep([document], undefined)).size, 0);
  assert.deepEqual(await written(), []);
});

test(
  'S8 a signature of another key is told with keyring and key id, and not written',
  needs('gpg'),
  async () => {
    const { keys } = await gpg.makeKey('somebody');
    await setKeyrings({ 'verifier-public-key-redhat': String(keys) });
    const word = (await keeper().keep([document], undefined)).get(document.name);
    assert.equal(word?.good, false);
    assert.match(
      word?.message ?? '',
      /does not hold: unable to verify sha256:[0-9a-f]{64} against keyrings: verifier-public-key-redhat \(key [0-9A-F]{16}: /,
    );
    assert.deepEqual(await written(), []);
  },
);

test(
  'S8 one that holds becomes the ConfigMap of the cluster-version operator, once',
  needs('gpg'),
  async () => {
    await setKeyrings({
      'verifier-public-key-redhat': releaseKeys,
      'store-openshift': 'https://unused.example',
    });
    const signatures = keeper();
    const word = (await signatures.keep([document], undefined)).get(document.name);
    assert.match(word?.message ?? '', /signature holds: key [0-9A-F]{16} of verifier-public-key-redhat/);
    const [map, ...others] = await written();
    assert.deepEqual(others, []);
    assert.deepEqual(Object.keys(map?.binaryData ?? {}), [`${release.payload.replace(':', '-')}-1`]);
    // Looked at again it is not written again; changed by somebody, it is.
    now += 61_000;
    await signatures.keep([document], undefined);
    assert.equal((await written())[0]?.metadata.resourceVersion, map?.metadata.resourceVersion);
    const { ConfigMap } = cluster.client.kinds;
    await cluster.client.patch(
      ConfigMap,
      map?.metadata.name ?? '',
      { binaryData: { [`${release.payload.replace(':', '-')}-1`]: Buffer.from('x').toString('base64') } },
      { namespace },
    );
    now += 61_000;
    await signatures.keep([document], undefined);
    assert.deepEqual((await written())[0]?.binaryData, map?.binaryData);
  },
);

test('S8 a release without signatures counts where the cluster has them already', needs('gpg'), async () => {
  const bare = await openMedia(release.path);
  const unsigned = (await openBundle(bare.content, { name: release.name }, [key.trusted])).document;
  const signatures = () =>
    createReleaseSignatures({
      client: cluster.client,
      content: bare.content,
      clock: systemClock,
      logger: silentLogger,
    });
  const there = (await signatures().keep([unsigned], undefined)).get(unsigned.name);
  assert.equal(there?.good, true, there?.message);
  const { ConfigMap } = cluster.client.kinds;
  for (const each of await written()) {
    await cluster.client.delete(ConfigMap, each.metadata.name, { namespace });
  }
  const gone = (await signatures().keep([unsigned], undefined)).get(unsigned.name);
  assert.equal(gone?.good, false);
  assert.equal(
    gone.message,
    'It carries no OpenPGP signature, and this cluster verifies releases against verifier-public-key-redhat',
  );
  await bare.close();
});

test('S8 the gates read the signatures that travel with a release', needs('gpg'), async () => {
  await setKeyrings({ 'verifier-public-key-redhat': releaseKeys });
  const releases = createReleases(media.content, async () => [key.trusted]);
  const bundleDigest = (await openBundle(media.content, { name: document.name }, [key.trusted])).digest;
  const { name, version, payload } = document;
  const found = await releases.byPayload(payload, [{ name, version, payload, bundleDigest }]);
  const { signatures } = await releases.contents(found);
  assert.equal(signatures.length, 1);
  const keys = await readReleaseKeys(cluster.client);
  const word = await signatureWord(keys, { payload, carried: signatures, now });
  assert.equal(word?.good, true, word?.message);
  const other = `sha256:${'0'.repeat(64)}` as const;
  assert.equal((await signatureWord(keys, { payload: other, carried: signatures, now }))?.good, false);
});

test(
  'G6 signatures of a release that is gone are taken away, and nothing that others wrote',
  needs('gpg'),
  async () => {
    await setKeyrings({ 'verifier-public-key-redhat': releaseKeys });
    const { ConfigMap } = cluster.client.kinds;
    const hex = release.payload.slice('sha256:'.length);
    const binaryData = { [`sha256-${hex}-1`]: Buffer.from('x').toString('base64') };
    await cluster.client.create(ConfigMap, {
      metadata: { name: 'mirrored-release-signatures', namespace, labels: { [label]: '' } },
      binaryData,
    });
    const namesNow = async () => (await written()).map((each) => each.metadata.name).sort();
    const ours = `sluice-release-signatures-${hex.slice(0, 12)}`;
    const keep = async (wanted: Digest[] | undefined) =>
      await keeper().keep([document], wanted === undefined ? undefined : new Set(wanted));
    await keep([release.payload]);
    assert.deepEqual(await namesNow(), ['mirrored-release-signatures', ours]);
    // While it is not known what is at hand, and while the release is, nothing is taken away.
    await keeper().keep([], undefined);
    await keep([release.payload]);
    assert.deepEqual(await namesNow(), ['mirrored-release-signatures', ours]);
    await keeper().keep([], new Set());
    assert.deepEqual(await namesNow(), ['mirrored-release-signatures']);

    // Somebody has put a signature of another release into ours: that one stays.
    await keep([release.payload]);
    const foreign = { [`sha256-${'9'.repeat(64)}-1`]: 'eA==' };
    await cluster.client.patch(ConfigMap, ours, { binaryData: foreign }, { namespace });
    await keeper().keep([], new Set());
    assert.deepEqual((await cluster.client.get(ConfigMap, ours, namespace)).binaryData, foreign);
    await keeper().keep([], new Set());
    assert.deepEqual((await cluster.client.get(ConfigMap, ours, namespace)).binaryData, foreign);
    // What stands under our name, made by somebody else, gets the signatures and is never taken away.
    await keep([release.payload]);
    await keeper().keep([], new Set());
    const stands = (await cluster.client.get(ConfigMap, ours, namespace)).binaryData ?? {};
    assert.deepEqual(Object.keys(stands).length, 2);
  },
);
