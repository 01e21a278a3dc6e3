import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { names } from '../../src/api/names.ts';
import { bundleRepository } from '../../src/bundle/document.ts';
import { digestOf } from '../../src/oci/digest.ts';
import { parseManifest } from '../../src/oci/manifest.ts';
import { runOrThrow } from '../../src/process/run.ts';
import { createAuthority, issue } from '../../src/trust/authority.ts';
import { makeRelease, testKey } from '../bundles.ts';
import { needs, repository } from '../tier.ts';
import { bootHost, until } from './host.ts';
import { v1 } from './seen.ts';

const { apiInt, registryPort } = names('standalone');

test(
  'K8 the registry’s unit serves a preloaded store from the first boot on, without any API',
  needs('systemd'),
  async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'sluice-unit-'));
    t.after(() => rm(dir, { recursive: true, force: true }));
    const key = testKey('maker');
    const release = await makeRelease({ version: '1.0.0', dir, key: key.pair, blobBytes: 2_000_000 });
    const authority = await createAuthority('unit-test');
    const client = await issue(authority, { commonName: 'system:node:other', usage: 'client' });
    await writeFile(join(dir, 'maker.pub'), key.pair.publicPem);

    const host = await bootHost(t, {
      config: '[updates]\nstrategy = "marker_file"\nenabled = false\n',
      booted: v1,
      versions: {},
      units: ['sluice-registry.service'],
      async prepare(root, address) {
        const pair = await issue(authority, {
          commonName: 'system:node:host',
          dnsNames: [apiInt],
          ipAddresses: [address],
          usage: 'both',
        });
        const place = join(root, 'etc/sluice/registry');
        await mkdir(place, { recursive: true });
        await writeFile(join(place, 'tls.crt'), pair.certPem);
        await writeFile(join(place, 'tls.key'), pair.keyPem, { mode: 0o600 });
        await writeFile(join(place, 'ca.crt'), authority.certPem);
        const store = join(root, 'var/lib/sluice/store');
        const preload = ['release', 'preload', release.path, '--root', store];
        await runOrThrow(join(repository, 'sluice'), [...preload, '--key', join(dir, 'maker.pub')]);
      },
    });

    const ask = (path: string, options: { cert?: boolean; auth?: string; address?: string } = {}) =>
      new Promise<{ status: number; body: Buffer }>((resolve, reject) => {
        const outgoing = request(
          {
            host: options.address ?? host.address,
            port: registryPort,
            path,
            ca: authority.certPem,
            ...(options.cert === false ? {} : { cert: client.certPem, key: client.keyPem }),
            ...(options.auth === undefined ? {} : { auth: options.auth }),
            headers: { accept: '*/*' },
            agent: false,
          },
          (answer) => {
            const chunks: Buffer[] = [];
            answer.on('data', (chunk: Buffer) => chunks.push(chunk));
            answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks) }));
            answer.on('error', reject);
          },
        );
        outgoing.on('error', reject);
        outgoing.end();
      });
    const state = () => host.inside(['systemctl', 'is-active', 'sluice-registry'], { check: false }).trim();
    const words = () =>
      host.inside(['journalctl', '-u', 'sluice-registry', '-n', '20', '--no-pager'], { check: false });
    const answers = async (path: string, options?: Parameters<typeof ask>[1]) =>
      (await ask(path, options).catch(() => undefined))?.status;
    const untilServed = async () => {
      const end = Date.now() + 60_000;
      while ((await answers('/v2/')) !== 200) {
        if (Date.now() > end) throw new Error(`the registry does not answer: ${state()} ${words()}`);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    };

    await untilServed();
    assert.equal(state(), 'active');
    assert.match(host.inside(['systemctl', 'show', '-p', 'Before', 'sluice-registry']), /kubelet\.service/);

    await t.test('every byte of the release is there', async () => {
      const bundle = await ask(`/v2/${bundleRepository}/manifests/${release.name}`);
      assert.deepEqual([bundle.status, digestOf(bundle.body)], [200, release.digest]);
      for (const image of release.document.images) {
        const raw = await ask(`/v2/${image.repository}/manifests/${image.digest}`);
        assert.equal(digestOf(raw.body), image.digest);
        const manifest = parseManifest(raw.body);
        assert.ok(manifest.kind === 'image');
        for (const { digest } of [manifest.config, ...manifest.layers]) {
          assert.equal(digestOf((await ask(`/v2/${image.repository}/blobs/${digest}`)).body), digest);
        }
      }
    });

    await t.test('strangers get nothing; a password counts as soon as its file is there', async () => {
      const auth = 'openshift:secret';
      assert.equal(await answers('/v2/', { cert: false }), 401);
      assert.equal(await answers('/v2/', { cert: false, auth }), 401);
      const { hash } = await import('bcryptjs');
      host.write('/run/sluice/htpasswd', `openshift:${await hash('secret', 5)}\n`, 0o600);
      const end = Date.now() + 30_000;
      while ((await answers('/v2/', { cert: false, auth })) !== 200) {
        assert.ok(Date.now() < end, 'the password is not accepted');
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    });

    await t.test('it can write nothing: not to its store, not to the system', () => {
      const pid = host.inside(['systemctl', 'show', '-p', 'MainPID', '--value', 'sluice-registry']).trim();
      for (const path of ['/var/lib/sluice/store/x', '/etc/x', '/usr/x']) {
        const tried = host.inside(['nsenter', '-t', pid, '-m', '--', 'sh', '-c', `echo x > ${path}`], {
          check: false,
        });
        assert.match(tried, /Read-only file system/, path);
      }
    });

    await t.test('killed, it comes back; after a reboot it is there again', async () => {
      host.inside(['systemctl', 'kill', '--kill-who=main', '-s', 'KILL', 'sluice-registry']);
      await until(
        () =>
          host.inside(['systemctl', 'show', '-p', 'NRestarts', '--value', 'sluice-registry']).trim() === '1',
        words,
      );
      await untilServed();
      host.inside(['systemctl', 'reboot'], { check: false });
      await host.booted(2);
      await untilServed();
      assert.equal(await answers(`/v2/${bundleRepository}/manifests/${release.digest}`), 200);
    });
  },
);
