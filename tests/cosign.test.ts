import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { buildBundle } from '../src/build/bundle.ts';
import { openBundle } from '../src/bundle/bundle.ts';
import { bundleRepository } from '../src/bundle/document.ts';
import { openMedia } from '../src/media/media.ts';
import { parseManifest } from '../src/oci/manifest.ts';
import { run, runOrThrow } from '../src/process/run.ts';
import { decryptKey, isEncryptedKey } from '../src/trust/encrypted-key.ts';
import { parseTrustedKey, publicKeyOf } from '../src/trust/keys.ts';
import { makeRelease, type TestRelease, testKey } from './bundles.ts';
import { listeningRegistry, type RunningRegistry } from './stock-registry.ts';
import { needs, repository } from './tier.ts';

const key = testKey();
const other = testKey('other');
let directory: string;
let release: TestRelease;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-cosign-'));
  release = await makeRelease({ version: '1.1.0', dir: directory, key: key.pair });
  await writeFile(join(directory, 'key.pub'), key.pair.publicPem);
  await writeFile(join(directory, 'other.pub'), other.pair.publicPem);
});
after(() => rm(directory, { recursive: true }));

test('openssl, which knows nothing of us, verifies our signature over the exact bytes', async () => {
  const media = await openMedia(release.path);
  const raw = await media.content.manifest(bundleRepository, `${release.digest.replace(':', '-')}.sig`);
  const manifest = parseManifest(raw?.bytes ?? new Uint8Array(0));
  const layer = manifest.kind === 'image' ? manifest.layers[0] : undefined;
  assert.ok(layer !== undefined);
  const payload = await media.content.openBlob(bundleRepository, layer.digest);
  await writeFile(join(directory, 'payload'), (await payload?.read(0, payload.size)) ?? '');
  await payload?.close();
  await media.close();
  await writeFile(
    join(directory, 'signature'),
    Buffer.from(layer.annotations?.['dev.cosignproject.cosign/signature'] ?? '', 'base64'),
  );
  const check = (pub: string) =>
    run('openssl', [
      'dgst',
      '-sha256',
      '-verify',
      join(directory, pub),
      '-signature',
      join(directory, 'signature'),
      join(directory, 'payload'),
    ]);
  assert.match((await check('key.pub')).stdout, /Verified OK/);
  assert.notEqual((await check('other.pub')).code, 0);
});

/** cosign, in a home of its own: nothing of this machine's user, and no cached root of trust. */
interface Cosign {
  readonly env: NodeJS.ProcessEnv;
  /** Makes `cosign.key` and `cosign.pub` in a directory. */
  makeKeys(where: string): Promise<void>;
  /** Signs an image of a registry, without any log. @param key a file of a private key. */
  sign(key: string, image: string, more?: readonly string[]): Promise<void>;
  /** Signs a statement of it in the same way. */
  attest(key: string, image: string, more: readonly string[]): Promise<void>;
  /** Verifies by a key alone. @param pub a file of a public key. */
  verify(pub: string, image: string, more?: readonly string[]): ReturnType<typeof run>;
}

async function openCosign(more: NodeJS.ProcessEnv = {}): Promise<Cosign> {
  const { stdout } = await runOrThrow(join(repository, 'tests/engine/cosign.sh'), [], {
    timeoutMs: 40 * 60_000,
  });
  const program = stdout.trim();
  const home = { HOME: join(directory, 'home'), TUF_ROOT: join(directory, 'tuf') };
  const env = { ...process.env, COSIGN_PASSWORD: '', ...home, ...more };
  const make = async (what: 'sign' | 'attest', key: string, image: string, more: readonly string[]) => {
    const flags = ['--tlog-upload=false', '--allow-http-registry', '--yes'];
    await runOrThrow(program, [what, '--key', key, ...flags, ...more, image], { env, timeoutMs: 120_000 });
  };
  return {
    env,
    async makeKeys(where) {
      await runOrThrow(program, ['generate-key-pair'], { cwd: where, env });
    },
    sign: (key, image, more = []) => make('sign', key, image, more),
    attest: (key, image, more) => make('attest', key, image, more),
    async verify(pub, image, more = []) {
      const flags = ['--insecure-ignore-tlog', '--allow-http-registry'];
      return await run(program, ['verify', '--key', pub, ...flags, ...more, image], { env });
    },
  };
}

/** A copy without cosign's tag: only what refers to the bundle is left to find. */
async function withoutTag(name: string): Promise<string> {
  const bare = join(directory, name);
  await cp(release.path, bare, { recursive: true });
  const tags = join(bare, 'docker/registry/v2/repositories', bundleRepository, '_manifests/tags');
  await rm(join(tags, `${release.digest.replace(':', '-')}.sig`), { recursive: true });
  return bare;
}

/** The bundle at a registry. */
const imageAt = ({ host }: RunningRegistry) => `${host}/${bundleRepository}@${release.digest}`;

/** Our media, served by the stock registry. */
async function serve(path: string, name: string): Promise<RunningRegistry> {
  const root = join(directory, name);
  await cp(path, join(root, 'data'), { recursive: true });
  return await listeningRegistry(root, {});
}

test(
  'S10 cosign itself accepts our signatures, without any network, and refuses another key',
  needs('go', 'docker-registry'),
  async () => {
    // Nothing of the root of trust is cached, and no address of it can be reached.
    const cosign = await openCosign({ HTTPS_PROXY: 'http://127.0.0.1:1' });
    const registry = await serve(release.path, 'served');
    try {
      const image = imageAt(registry);
      const good = await cosign.verify(join(directory, 'key.pub'), image);
      assert.equal(good.code, 0, good.stderr);
      assert.match(good.stdout, new RegExp(release.digest));
      assert.notEqual((await cosign.verify(join(directory, 'other.pub'), image)).code, 0);
    } finally {
      await registry.close();
    }
  },
);

test(
  'what cosign signs is trusted by us: its key format, its signature',
  needs('go', 'docker-registry'),
  async () => {
    const cosign = await openCosign();
    await cosign.makeKeys(directory);
    const registry = await serve(release.path, 'signed');
    try {
      await cosign.sign(join(directory, 'cosign.key'), imageAt(registry));
    } finally {
      await registry.close();
    }
    const trusted = parseTrustedKey('cosign', await readFile(join(directory, 'cosign.pub'), 'utf8'));
    const media = await openMedia(join(directory, 'signed', 'data'));
    try {
      const bundle = await openBundle(media.content, { digest: release.digest }, [trusted]);
      assert.equal(bundle.signedBy.id, trusted.id);
      // Rotation: both keys are known for a while, either signature is enough, and the old one alone still is.
      for (const keys of [[key.trusted, trusted], [key.trusted]]) {
        assert.equal(
          (await openBundle(media.content, { digest: release.digest }, keys)).digest,
          release.digest,
        );
      }
      await assert.rejects(openBundle(media.content, { digest: release.digest }, [other.trusted]), {
        code: 'SignatureUntrusted',
        message: new RegExp(`other \\(${other.trusted.id}\\)`),
      });
    } finally {
      await media.close();
    }
  },
);

test(
  'the signatures of an image that cosign signed travel with it',
  needs('go', 'docker-registry', 'skopeo'),
  async () => {
    const cosign = await openCosign();
    const registry = await listeningRegistry(join(directory, 'images'), {});
    try {
      const source = release.sources.get('web') ?? '';
      await runOrThrow('skopeo', [
        'copy',
        '--insecure-policy',
        '--dest-tls-verify=false',
        source,
        `docker://${registry.host}/team/web:1`,
      ]);
      const digest = release.document.images.find((each) => each.name === 'web')?.digest ?? '';
      await cosign.sign(join(directory, 'cosign.key'), `${registry.host}/team/web@${digest}`);
      const out = join(directory, 'with-signatures');
      const built = await buildBundle({
        payload: release.payloadSource,
        images: new Map([['web', `docker://${registry.host}/team/web:1`]]),
        access: { env: { HOME: '/nonexistent' }, insecure: [registry.host] },
        privatePem: key.pair.privatePem,
        out,
      });
      assert.deepEqual(
        built.document.images.find((each) => each.name === 'web')?.attached.map((each) => each.tag),
        [`${digest.replace(':', '-')}.sig`],
      );
      const media = await openMedia(out);
      assert.ok(
        (await media.content.manifest('openshift/release', `${digest.replace(':', '-')}.sig`)) !== undefined,
      );
      await media.close();
    } finally {
      await registry.close();
    }
  },
);

test(
  'signatures among the referrers: ours and cosign’s are both found there, by both',
  needs('go', 'docker-registry'),
  async () => {
    const cosign = await openCosign({ COSIGN_EXPERIMENTAL: '1' });
    const bare = await withoutTag('bare');
    const registry = await serve(bare, 'referrers');
    try {
      const image = imageAt(registry);
      await cosign.sign(join(directory, 'cosign.key'), image, ['--registry-referrers-mode=oci-1-1']);
      const verified = await cosign.verify(join(directory, 'cosign.pub'), image, ['--experimental-oci11']);
      assert.equal(verified.code, 0, verified.stderr);
    } finally {
      await registry.close();
    }
    const trusted = parseTrustedKey('cosign', await readFile(join(directory, 'cosign.pub'), 'utf8'));
    const media = await openMedia(join(directory, 'referrers', 'data'));
    try {
      for (const wanted of [trusted, key.trusted]) {
        const bundle = await openBundle(media.content, { digest: release.digest }, [wanted]);
        assert.equal(bundle.signedBy.id, wanted.id);
        assert.deepEqual(
          bundle.signatures.map((each) => each.tag),
          [undefined],
        );
      }
    } finally {
      await media.close();
    }
  },
);

test(
  'cosign 3’s form is verified among the referrers; an attestation beside it is no signature',
  needs('go', 'docker-registry'),
  async () => {
    const cosign = await openCosign();
    const bare = await withoutTag('bare-bundle');
    const registry = await serve(bare, 'bundles');
    const form = ['--new-bundle-format', '--use-signing-config=false'];
    const trusted = parseTrustedKey('cosign', await readFile(join(directory, 'cosign.pub'), 'utf8'));
    const open = async () => {
      const media = await openMedia(join(directory, 'bundles', 'data'));
      try {
        return await openBundle(media.content, { digest: release.digest }, [trusted]);
      } finally {
        await media.close();
      }
    };
    try {
      await writeFile(join(directory, 'predicate.json'), '{"bill":"of materials"}');
      const statement = ['--predicate', join(directory, 'predicate.json'), '--type', 'custom'];
      await cosign.attest(join(directory, 'cosign.key'), imageAt(registry), [...statement, ...form]);
      await assert.rejects(open(), { code: 'SignatureUntrusted' });
      await cosign.sign(join(directory, 'cosign.key'), imageAt(registry), form);
    } finally {
      await registry.close();
    }
    const bundle = await open();
    assert.equal(bundle.signedBy.id, trusted.id);
    assert.equal(bundle.signatures.length, 1);
  },
);

test(
  'keys with a password go both ways: cosign signs with ours, and we sign with cosign’s',
  needs('go', 'docker-registry'),
  async () => {
    const cosign = await openCosign({ COSIGN_PASSWORD: 'a long word' });
    const theirs = join(directory, 'theirs');
    await mkdir(theirs);
    await cosign.makeKeys(theirs);
    const pem = await readFile(join(theirs, 'cosign.key'), 'utf8');
    assert.ok(isEncryptedKey(pem));
    const opened = decryptKey(pem, 'a long word', 'cosign.key');
    const trusted = parseTrustedKey('theirs', await readFile(join(theirs, 'cosign.pub'), 'utf8'));
    assert.equal(publicKeyOf(opened, 'cosign.key').id, trusted.id);

    const ours = join(directory, 'ours');
    const { env } = cosign;
    await runOrThrow(join(repository, 'sluice'), ['bundle', 'keygen', '--out', ours, '--encrypt'], { env });
    const registry = await serve(release.path, 'signed-by-ours');
    try {
      await cosign.sign(join(ours, 'sluice.key'), imageAt(registry));
    } finally {
      await registry.close();
    }
    const media = await openMedia(join(directory, 'signed-by-ours', 'data'));
    const own = parseTrustedKey('ours', await readFile(join(ours, 'sluice.pub'), 'utf8'));
    const bundle = await openBundle(media.content, { digest: release.digest }, [own]);
    await media.close();
    assert.equal(bundle.signedBy.id, own.id);
  },
);
