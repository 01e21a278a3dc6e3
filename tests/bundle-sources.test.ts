import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { buildBundle } from '../src/build/bundle.ts';
import { buildImage } from '../src/build/image.ts';
import { createSourceOpener, imageOf } from '../src/build/source.ts';
import { openBundle } from '../src/bundle/bundle.ts';
import { verifyMedia } from '../src/bundle/medium.ts';
import { readReleaseSignatures, signatureConfigMap } from '../src/bundle/release-signatures.ts';
import { openMedia } from '../src/media/media.ts';
import { type Digest, digestOf, hexOf } from '../src/oci/digest.ts';
import { run, runOrThrow } from '../src/process/run.ts';
import { blobData, revisionsPath } from '../src/store/path.ts';
import { openStore } from '../src/store/store.ts';
import { keyringsOf, releaseSignaturesMax, verifyRelease } from '../src/trust/release-signature.ts';
import { makeRelease, problemsOn, type TestRelease, testKey } from './bundles.ts';
import { releaseClaim, startGpg } from './gpg.ts';
import { listeningRegistry } from './stock-registry.ts';
import { needs } from './tier.ts';

const key = testKey();
let directory: string;
let release: TestRelease;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-sources-'));
  release = await makeRelease({ version: '1.1.0', dir: directory, key: key.pair });
});
after(() => rm(directory, { recursive: true }));

const problems = (path: string) => problemsOn(path, key.trusted);

test(
  'docker-archive: what skopeo and podman save has one digest, and is a release’s image',
  needs('skopeo'),
  async () => {
    const layout = { directory: join(directory, 'layout'), reference: '1' };
    await buildImage({
      out: layout,
      files: [{ path: '/x', data: 'x'.repeat(10_000) }],
      config: { labels: { a: 'b' } },
    });
    const archive = join(directory, 'saved.tar');
    await runOrThrow('skopeo', [
      'copy',
      '--insecure-policy',
      `oci:${layout.directory}:1`,
      `docker-archive:${archive}:registry.example/team/x:1`,
    ]);
    const opener = createSourceOpener(join(directory, 'scratch'), { env: {} });
    const digests = new Set<Digest>();
    for (const reference of ['', ':registry.example/team/x:1', ':team/x:1', ':1']) {
      digests.add(await imageOf(await opener.open(`docker-archive:${archive}${reference}`), 'x'));
    }
    // `docker save | gzip`, and what zstd packs; in another packing the way out is told.
    const bytes = await readFile(archive);
    for (const [ending, packed] of [
      ['gz', gzipSync(bytes)] as const,
      ['zst', zstdCompressSync(bytes)] as const,
    ]) {
      await writeFile(`${archive}.${ending}`, packed);
      digests.add(await imageOf(await opener.open(`docker-archive:${archive}.${ending}`), 'x'));
    }
    await writeFile(`${archive}.xz`, Buffer.from('fd377a585a000000', 'hex'));
    await assert.rejects(opener.open(`docker-archive:${archive}.xz`), {
      code: 'InputInvalid',
      next: /xz -dk .*saved\.tar\.xz/,
    });
    await writeFile(`${archive}.cut.gz`, gzipSync(bytes).subarray(0, 500));
    await assert.rejects(opener.open(`docker-archive:${archive}.cut.gz`), {
      code: 'InputInvalid',
      message: /saved\.tar\.cut\.gz cannot be unpacked \(gzip\)/,
    });
    await opener.close();
    assert.deepEqual(
      (await readdir(join(directory, 'scratch')).catch(() => [])).filter((each) =>
        each.startsWith('archive-'),
      ),
      [],
    );
    assert.equal(digests.size, 1);
    const again = createSourceOpener(join(directory, 'scratch'), { env: {} });
    await assert.rejects(again.open(`docker-archive:${archive}:none:1`), {
      code: 'NotFound',
      next: /registry\.example\/team\/x:1/,
    });
    await again.close();
    const out = join(directory, 'with-archive');
    await buildBundle({
      payload: release.payloadSource,
      images: new Map([...release.sources, ['registry.example/team/x:1', `docker-archive:${archive}`]]),
      privatePem: key.pair.privatePem,
      out,
    });
    assert.deepEqual(await problems(out), []);
    // The registry that everybody has gives the image out as it is, and its bytes are those of the archive.
    const served = await listeningRegistry(join(directory, 'served'), {});
    try {
      await cp(join(out, 'docker'), join(served.root, 'docker'), { recursive: true });
      const copy = join(directory, 'back');
      await runOrThrow('skopeo', [
        'copy',
        '--insecure-policy',
        '--src-tls-verify=false',
        `docker://${served.host}/team/x:1`,
        `dir:${copy}`,
      ]);
      assert.ok((await readdir(copy)).includes('manifest.json'));
    } finally {
      await served.close();
    }
  },
);

test('podman save: its archive is read as well', needs('podman', 'containers'), async () => {
  await mkdir(join(directory, 'files'));
  await writeFile(join(directory, 'files', 'x'), 'podman');
  await runOrThrow('tar', ['-cf', join(directory, 'files.tar'), '-C', join(directory, 'files'), '.']);
  const storage = [
    '--root',
    join(directory, 'storage'),
    '--runroot',
    join(directory, 'run'),
    '--storage-driver',
    'vfs',
  ];
  const archive = join(directory, 'podman.tar');
  const name = 'localhost/sluice-test/saved:1';
  await runOrThrow('podman', [...storage, 'import', '-q', join(directory, 'files.tar'), name]);
  await runOrThrow('podman', [...storage, 'save', '-q', '--format', 'docker-archive', '-o', archive, name]);
  const opener = createSourceOpener(join(directory, 'scratch'), { env: {} });
  assert.match(await imageOf(await opener.open(`docker-archive:${archive}:${name}`), 'x'), /^sha256:/);
  await opener.close();
  await run('podman', [...storage, 'rmi', '-a', '-f']);
});

test(
  'media that others made become a bundle of ours by our own signature, and only so',
  needs('docker-registry', 'skopeo'),
  async () => {
    // A registry's own directory, as oc-mirror and others leave it: other repositories, no signature, no document.
    const registry = await listeningRegistry(join(directory, 'foreign'), {});
    const to = (name: string) => `docker://${registry.host}/mirror/${name}`;
    const copy = ['copy', '--insecure-policy', '--dest-tls-verify=false'];
    try {
      await runOrThrow('skopeo', [...copy, release.payloadSource, to('release-images:1.1.0')]);
      await runOrThrow('skopeo', [...copy, release.sources.get('web') ?? '', to('somewhere/else:web')]);
      await cp(registry.root, join(directory, 'bare'), { recursive: true });
      // Once more elsewhere, and only there with a signature.
      const web = release.document.images.find((each) => each.name === 'web')?.digest ?? '';
      const tag = `${web.replace(':', '-')}.sig`;
      await runOrThrow('skopeo', [...copy, release.sources.get('web') ?? '', to('zzz/signed:web')]);
      await runOrThrow('skopeo', [...copy, release.payloadSource, to(`zzz/signed:${tag}`)]);
    } finally {
      await registry.close();
    }
    const media = await openMedia(registry.root);
    await assert.rejects(verifyMedia(media, [key.trusted]), {
      code: 'MediaUnreadable',
      message: /no release bundle/,
    });
    await media.close();
    const adopt = (root: string, out: string) =>
      buildBundle({
        payload: `media:${root}#mirror/release-images:1.1.0`,
        images: new Map(),
        privatePem: key.pair.privatePem,
        out,
      });
    const bare = join(directory, 'adopted-bare');
    assert.equal(
      (await adopt(join(directory, 'bare'), bare)).digest,
      release.digest,
      'the same release is the same bundle, whoever carried it',
    );
    assert.deepEqual(await problems(bare), []);
    const out = join(directory, 'adopted');
    const built = await adopt(registry.root, out);
    assert.deepEqual(
      built.document.images.find((each) => each.name === 'web')?.attached.map((each) => each.digest),
      [release.payload],
    );
    assert.deepEqual(await problems(out), []);
    // A manifest that cannot be read may be a signature: that is no "there is none".
    const spoiled = join(directory, 'spoiled');
    await cp(registry.root, spoiled, { recursive: true });
    const store = await openStore(spoiled);
    const bytes = Buffer.from('{"schemaVersion":2,"layers":[]}');
    await store.putBlob(digestOf(bytes), bytes);
    const links = join(spoiled, revisionsPath('mirror/zzz/signed', 'sha256'), hexOf(digestOf(bytes)));
    await mkdir(links);
    await writeFile(join(links, 'link'), digestOf(bytes));
    await writeFile(join(spoiled, blobData(digestOf(bytes))), 'spoiled');
    await assert.rejects(adopt(spoiled, join(directory, 'from-spoiled')), {
      code: 'DigestMismatch',
      message: new RegExp(digestOf(bytes)),
    });
    await assert.rejects(
      buildBundle({
        payload: `media:${registry.root}#mirror/none:1`,
        images: new Map(),
        privatePem: key.pair.privatePem,
        out: join(directory, 'no'),
      }),
      { code: 'NotFound', next: /mirror\/release-images/ },
    );
  },
);

test(
  'S8 S12 OpenPGP signatures of the release travel in the bundle and become the operator’s ConfigMap',
  needs('gpg'),
  async () => {
    const gpg = await startGpg();
    try {
      const { keys: exported } = await gpg.makeKey('release');
      const keys = String(exported);
      const claim = releaseClaim(release.payload);
      const store = join(directory, 'signatures');
      const place = join(store, release.payload.replace(':', '='));
      await mkdir(place, { recursive: true });
      await writeFile(join(place, 'signature-1'), await gpg.sign('release', claim));
      const build = (out: string, stores: string[], keyrings: { name: string; keys: string }[]) =>
        buildBundle({
          payload: release.payloadSource,
          images: release.sources,
          privatePem: key.pair.privatePem,
          out: join(directory, out),
          releaseSignatures: { stores, keyrings, env: {}, storeTimeoutMs: 1_000 },
        });
      // Stores that are away, or never answer, change nothing where another has the signature, and are told.
      const mute = createServer(() => {}).listen(0, '127.0.0.1');
      await once(mute, 'listening');
      const muteUrl = `http://127.0.0.1:${(mute.address() as AddressInfo).port}/signatures`;
      const built = await build(
        'signed',
        ['http://127.0.0.1:1/signatures', muteUrl, store],
        [{ name: 'release', keys }],
      ).finally(() => {
        mute.closeAllConnections();
        mute.close();
      });
      const unasked = built.notes.filter((note) => note.startsWith('a store of release signatures'));
      assert.equal(unasked.length, 2, built.notes.join('\n'));
      assert.ok(unasked.some((note) => note.includes(muteUrl)));
      assert.equal((await build('signed-again', [store], [])).digest, built.digest);
      assert.deepEqual(await problems(join(directory, 'signed')), []);
      // Two stores full of what does not hold crowd the one that does neither out of the look nor off the disk.
      const good = await readFile(join(place, 'signature-1'));
      const full = [];
      for (let number = 0; full.length < 2 * releaseSignaturesMax; number += 1) {
        const bytes = Buffer.from(`no signature ${number}`);
        if (digestOf(bytes) < digestOf(good)) full.push(bytes);
      }
      const bad = [join(directory, 'bad-1'), join(directory, 'bad-2')];
      for (const [index, bytes] of full.entries()) {
        const folder = join(bad[index % 2] ?? '', release.payload.replace(':', '='));
        await mkdir(folder, { recursive: true });
        await writeFile(join(folder, `signature-${1 + Math.floor(index / 2)}`), bytes);
      }
      await build('crowded', [...bad, store], [{ name: 'release', keys }]);
      const crowded = await openMedia(join(directory, 'crowded'));
      const { document } = await openBundle(crowded.content, { name: built.document.name }, [key.trusted]);
      const carried = await readReleaseSignatures(crowded.content, document);
      await crowded.close();
      assert.equal(carried.length, releaseSignaturesMax);
      assert.ok(carried.some((bytes) => good.equals(bytes)));
      const media = await openMedia(join(directory, 'signed'));
      const bundle = await openBundle(media.content, { digest: built.digest }, [key.trusted]);
      const signatures = await readReleaseSignatures(media.content, bundle.document);
      await media.close();
      const cluster = keyringsOf({ 'verifier-public-key-release': keys });
      const [found] = await verifyRelease(signatures, cluster, release.payload, Date.now());
      assert.equal(found?.dockerReference, 'quay.io/okd/release:1.1.0');
      const map = signatureConfigMap(release.payload, signatures, 'openshift-config-managed');
      assert.deepEqual(map.metadata.labels, { 'release.openshift.io/verification-signatures': '' });
      const [name = '', value = ''] = Object.entries(map.binaryData)[0] ?? [];
      assert.equal(name, `${release.payload.replace(':', '-')}-1`);
      // gpgv, which knows nothing of us, reads the message out of the ConfigMap.
      await writeFile(join(gpg.home, 'message'), Buffer.from(value, 'base64'));
      await gpg.gpg(['--output', join(gpg.home, 'ring.gpg'), '--export', 'release@example.org']);
      await runOrThrow('gpgv', [
        '--keyring',
        join(gpg.home, 'ring.gpg'),
        '--output',
        join(gpg.home, 'claim'),
        join(gpg.home, 'message'),
      ]);
      assert.equal(await readFile(join(gpg.home, 'claim'), 'utf8'), claim);
      // The ConfigMap itself is a store as well: as oc-mirror writes it, or as one of a list that oc prints.
      const keyring = [{ name: 'release', keys }];
      const file = join(directory, 'signature-configmap.yaml');
      const others = { apiVersion: 'v1', kind: 'ConfigMap', binaryData: { 'sha256-00-1': 'AA==' } };
      for (const [index, text] of [
        `---\n${JSON.stringify(map)}\n`,
        JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [others, map] }),
      ].entries()) {
        await writeFile(file, text);
        assert.equal((await build(`by-config-map-${index}`, [file], keyring)).digest, built.digest);
      }
      await writeFile(file, JSON.stringify(others));
      await assert.rejects(build('other', [file], keyring), { code: 'SignatureMissing', message: /none in/ });
      await writeFile(file, 'kind: Secret\n');
      await assert.rejects(build('no-map', [file], keyring), {
        code: 'SignatureMissing',
        message: /holds no ConfigMap/,
      });
      // With a keyring they must be good: no other maker's, and not of another release.
      const { keys: strange } = await gpg.makeKey('stranger');
      const other = [...keyring, { name: 'stranger', keys: String(strange) }];
      await assert.rejects(build('untrusted', [store], other), {
        code: 'SignatureUntrusted',
        message: new RegExp(
          `unable to verify ${release.payload} against keyrings: stranger \\(.*[0-9A-F]{16}`,
        ),
      });
      const wrong = join(directory, 'wrong-signatures');
      await mkdir(join(wrong, release.payload.replace(':', '=')), { recursive: true });
      await writeFile(
        join(wrong, release.payload.replace(':', '='), 'signature-1'),
        await gpg.sign('release', releaseClaim(release.digest)),
      );
      await assert.rejects(build('of-another', [wrong], keyring), {
        code: 'SignatureUntrusted',
        message: new RegExp(`the signature is for ${release.digest}`),
      });
      assert.ok(!existsSync(join(directory, 'untrusted')), 'nothing is written before that');
      await assert.rejects(build('none', [join(directory, 'nowhere')], []), {
        code: 'SignatureMissing',
        message: /none in/,
      });
      await assert.rejects(build('away', ['http://127.0.0.1:1/x'], []), {
        code: 'SignatureMissing',
        message: /does not answer/,
      });
    } finally {
      await gpg.close();
    }
  },
);
