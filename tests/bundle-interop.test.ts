import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { hexOf } from '../src/oci/digest.ts';
import { runOrThrow } from '../src/process/run.ts';
import { freePort } from '../src/up/network.ts';
import { makeRelease, testKey } from './bundles.ts';
import { needs } from './tier.ts';

/** The stock registry over a directory, read-only, without TLS. */
async function serve(root: string, scratch: string): Promise<{ host: string; stop: () => Promise<void> }> {
  const host = `127.0.0.1:${await freePort()}`;
  const config = join(scratch, 'registry.yml');
  const settings = {
    version: 0.1,
    log: { level: 'error' },
    storage: { filesystem: { rootdirectory: root }, maintenance: { readonly: { enabled: true } } },
    http: { addr: host },
  };
  await writeFile(config, JSON.stringify(settings));
  const child = spawn('docker-registry', ['serve', config], { stdio: 'ignore' });
  for (let tries = 0; tries < 100; tries += 1) {
    const answer = await fetch(`http://${host}/v2/`).catch(() => undefined);
    if (answer?.ok) break;
    await sleep(50);
  }
  return {
    host,
    async stop() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}

test(
  'the stock registry serves a built bundle, and skopeo copies every image of it by digest',
  needs('docker-registry', 'skopeo'),
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-interop-'));
    t.after(() => rm(directory, { recursive: true }));
    const release = await makeRelease({
      version: '1.1.0',
      dir: directory,
      key: testKey().pair,
      images: { a: {}, b: {} },
    });
    const registry = await serve(release.path, directory);
    t.after(() => registry.stop());
    const pull = async (name: string, reference: string) => {
      const from = `docker://${registry.host}/${name}${reference.startsWith('sha256:') ? '@' : ':'}${reference}`;
      const to = `dir:${join(directory, 'pulled', encodeURIComponent(`${name}${reference}`))}`;
      await runOrThrow('mkdir', ['-p', join(directory, 'pulled')]);
      await runOrThrow('skopeo', ['copy', '--src-tls-verify=false', '--preserve-digests', from, to]);
    };
    for (const image of release.document.images) {
      await pull(image.repository, image.digest);
      await pull(image.repository, image.tag);
    }
    await pull('openshift/release-bundles', release.name);
    // What cosign asks for when it verifies: the tag of the signature, an image like any other.
    await pull('openshift/release-bundles', `sha256-${hexOf(release.digest)}.sig`);
    const { stdout } = await runOrThrow('skopeo', [
      'inspect',
      '--tls-verify=false',
      `docker://${registry.host}/openshift/release-bundles:${release.name}`,
    ]);
    assert.equal(JSON.parse(stdout).Digest, release.digest);
  },
);
