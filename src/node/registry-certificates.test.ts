import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { imageOf, putImage, tarOf } from '../../tests/content.ts';
import { needs } from '../../tests/tier.ts';
import { rpmOstreeDriver } from '../finalize/rpm-ostree.ts';
import { silentLogger } from '../observe/log.ts';
import { serveRegistry } from '../registry/server.ts';
import { openStore } from '../store/store.ts';
import { createAuthority, issue } from '../trust/authority.ts';
import { withRegistryCertificates } from './registry-certificates.ts';

test(
  'the OS image is pulled by digest from the node’s own registry, with the node’s own certificate and no other',
  needs('skopeo'),
  async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-certs-'));
    t.after(() => rmSync(dir, { recursive: true, force: true }));
    const store = await openStore(join(dir, 'store'));
    const image = imageOf([await tarOf([{ header: { name: 'usr/lib/os' }, data: 'os' }])]);
    await putImage(store, 'openshift/release', image);
    const authority = await createAuthority('cluster');
    const names = { commonName: 'node', ipAddresses: ['127.0.0.1'], usage: 'both' } as const;
    const file = (name: string, text: string) => {
      writeFileSync(join(dir, name), text);
      return join(dir, name);
    };
    const server = await issue(authority, names);
    const tls = {
      certFile: file('server.crt', server.certPem),
      keyFile: file('server.key', server.keyPem),
      clientCaFile: file('ca.crt', authority.certPem),
    };
    const registry = await serveRegistry({
      storePath: store.root,
      address: '127.0.0.1',
      port: 0,
      tls,
      htpasswdFile: file('htpasswd', ''),
      peer: { servername: 'api-int.sluice.internal' },
      trustedKeys: join(dir, 'no-keys'),
      logger: silentLogger,
    });
    t.after(() => registry.close(0));
    const host = `127.0.0.1:${registry.port}`;
    // Pulls what it is told as the real one does: by containers' own tools and their directory of certificates.
    const home = join(dir, 'home');
    const { digest } = image.raw;
    const program = file(
      'rpm-ostree',
      `#!/bin/sh
export HOME=${home} REGISTRY_AUTH_FILE=${dir}/none.json
case "$*" in
*status*) echo '{"deployments":[{"booted":true,"checksum":"${'1'.repeat(64)}"}]}';;
*rebase*) for word; do case "$word" in ostree-unverified-registry:*) from=$word;; esac; done
  exec skopeo --insecure-policy copy -q "docker://\${from#*:}" "dir:${dir}/pulled";;
esac
`,
    );
    chmodSync(program, 0o755);
    const bare = rpmOstreeDriver({ command: program, pullFrom: async () => host });
    const wanted = `registry.example/openshift/release@${digest}`;
    await assert.rejects(
      bare.stage(wanted, digest),
      /certificate|x509|unauthorized/i,
      'without them: refused',
    );
    const own = await issue(authority, { ...names, usage: 'client' });
    const files = {
      ca: join(dir, 'ca.crt'),
      cert: file('node.crt', own.certPem),
      key: file('node.key', own.keyPem),
    };
    const directory = join(home, '.config/containers/certs.d');
    const driver = withRegistryCertificates(bare, { directory, hosts: async () => [host], files });
    await driver.stage(wanted, digest);
    assert.ok(existsSync(join(dir, 'pulled', 'manifest.json')));
    assert.equal(statSync(join(directory, host, 'client.key')).mode & 0o777, 0o600);
    const renewed = await issue(authority, { ...names, usage: 'client' });
    file('node.crt', renewed.certPem);
    file('node.key', renewed.keyPem);
    await driver.stage(wanted, digest);
    assert.equal(readFileSync(join(directory, host, 'client.cert'), 'utf8'), renewed.certPem);
    const stranger = await issue(await createAuthority('other'), { ...names, usage: 'client' });
    file('node.crt', stranger.certPem);
    file('node.key', stranger.keyPem);
    await assert.rejects(driver.stage(wanted, digest), /unauthorized|certificate|denied/i);
  },
);
