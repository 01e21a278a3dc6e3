import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { hashSync } from 'bcryptjs';
import { importPKCS8, SignJWT } from 'jose';
import { buildBundle } from '../src/build/bundle.ts';
import { buildImage } from '../src/build/image.ts';
import { buildPayload } from '../src/build/payload.ts';
import type { RegistryAccess } from '../src/build/registry-source.ts';
import { createSourceOpener, imageOf } from '../src/build/source.ts';
import { problemsOf, verifyMedia } from '../src/bundle/medium.ts';
import { openMedia } from '../src/media/media.ts';
import { mediaTypes } from '../src/oci/manifest.ts';
import { runOrThrow } from '../src/process/run.ts';
import { createAuthority, issue } from '../src/trust/authority.ts';
import { freePort } from '../src/up/network.ts';
import { testKey } from './bundles.ts';
import { listeningRegistry, type RunningRegistry } from './stock-registry.ts';
import { needs } from './tier.ts';

const key = testKey();
let directory: string;
let plain: RunningRegistry;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sluice-registries-'));
  if (needs('docker-registry', 'skopeo').skip !== undefined) return;
  await buildImage({
    out: layout('web'),
    files: [{ path: '/web', data: 'web' }],
    config: { labels: { a: 'b' } },
  });
  plain = await listeningRegistry(join(directory, 'plain'), {});
  await push('oci', 'web', `${plain.host}/team/web:1`);
});
after(async () => {
  await plain?.close();
  await rm(directory, { recursive: true });
});

const layout = (name: string) => ({ directory: join(directory, `layout-${name}`), reference: '1' });

async function push(kind: 'oci' | 'v2s2', name: string, to: string, more: string[] = []): Promise<void> {
  const args = [
    'copy',
    '--insecure-policy',
    '--dest-tls-verify=false',
    ...(kind === 'v2s2' ? ['--format', 'v2s2'] : []),
    ...more,
  ];
  await runOrThrow('skopeo', [...args, `oci:${layout(name).directory}:1`, `docker://${to}`]);
}

const env = { HOME: '/nonexistent' };
const insecure = (): RegistryAccess => ({ env, insecure: [plain.host] });

/** The digest that a source has, all its bytes fetched and hashed. */
async function digestAt(text: string, access: RegistryAccess): Promise<string> {
  const opener = createSourceOpener(join(directory, 'scratch'), access);
  try {
    return await imageOf(await opener.open(text), 'the image');
  } finally {
    await opener.close();
  }
}

test(
  'a registry without TLS answers only where it is named as such',
  needs('docker-registry', 'skopeo'),
  async () => {
    const source = `docker://${plain.host}/team/web:1`;
    assert.match(await digestAt(source, insecure()), /^sha256:/);
    await assert.rejects(digestAt(source, { env }), { code: 'Unreachable', message: /without TLS/ });
    await assert.rejects(digestAt(`docker://${plain.host}/team/none:1`, insecure()), { code: 'NotFound' });
  },
);

test(
  'passwords: Basic behind TLS of a private authority, from podman’s file',
  needs('docker-registry', 'skopeo'),
  async () => {
    const authority = await createAuthority('private');
    const pair = await issue(authority, { commonName: 'r', ipAddresses: ['127.0.0.1'], usage: 'server' });
    const registry = await listeningRegistry(join(directory, 'basic'), {
      tls: pair,
      htpasswd: `user:${hashSync('a:pass', 4)}\n`,
    });
    try {
      const authFile = join(directory, 'auth.json');
      await push('oci', 'web', `${registry.host}/team/web:1`, ['--dest-creds', 'user:a:pass']);
      await runOrThrow('skopeo', [
        'login',
        '--tls-verify=false',
        '--authfile',
        authFile,
        '-u',
        'user',
        '-p',
        'a:pass',
        registry.host,
      ]);
      const caFile = join(directory, 'ca.pem');
      await writeFile(caFile, authority.certPem);
      const source = `docker://${registry.host}/team/web:1`;
      assert.match(await digestAt(source, { env, authFile, caFile }), /^sha256:/);
      await assert.rejects(digestAt(source, { env, caFile }), { code: 'Unauthorized' });
      await assert.rejects(digestAt(source, { env, authFile }), {
        code: 'Unreachable',
        message: /self-signed|certificate/,
      });
    } finally {
      await registry.close();
    }
  },
);

test(
  'passwords: Bearer tokens of another server, anonymous and known',
  needs('docker-registry', 'skopeo'),
  async () => {
    const issuer = await tokenServer();
    const registry = await listeningRegistry(join(directory, 'bearer'), {
      auth: {
        token: {
          realm: issuer.realm,
          service: 'stock',
          issuer: 'sluice-test',
          rootcertbundle: issuer.bundle,
        },
      },
    });
    try {
      await push('oci', 'web', `${registry.host}/team/web:1`, ['--dest-creds', 'user:secret']);
      issuer.asked.length = 0;
      const access = { env, insecure: [registry.host] };
      const source = `docker://${registry.host}/team/web:1`;
      await assert.rejects(digestAt(source, access), { code: 'Unauthorized' });
      const authFile = join(directory, 'bearer.json');
      await writeFile(
        authFile,
        JSON.stringify({ auths: { [`${registry.host}/team`]: { username: 'user', password: 'secret' } } }),
      );
      issuer.asked.length = 0;
      const opener = createSourceOpener(join(directory, 'scratch'), { ...access, authFile });
      const opened = await opener.open(source);
      for (let time = 0; time < 3; time += 1) await opened.content.referrers('', opened.digest ?? 'sha256:');
      await opener.close();
      assert.equal(issuer.asked.length, 1, 'one token serves all requests of a repository');
      assert.match(issuer.asked[0] ?? '', /scope=repository%3Ateam%2Fweb%3Apull/);
    } finally {
      await registry.close();
      issuer.server.close();
    }
  },
);

test(
  'P10 P12 mirrors: a dead one is passed over, a blocked registry is not dialled',
  needs('docker-registry', 'skopeo'),
  async () => {
    const dead = `127.0.0.1:${await freePort()}`;
    const registriesConf = join(directory, 'registries.conf');
    await writeFile(
      registriesConf,
      `[[registry]]\nlocation = "quay.invalid/team"\nblocked = true\n[[registry.mirror]]\nlocation = "${dead}/x"\ninsecure = true\n` +
        `[[registry.mirror]]\nlocation = "${plain.host}/team"\ninsecure = true\n`,
    );
    assert.equal(
      await digestAt('docker://quay.invalid/team/web:1', { env, registriesConf }),
      await digestAt(`docker://${plain.host}/team/web:1`, insecure()),
    );
  },
);

test(
  'P16 a proxy carries what is outside, and never what is on this machine',
  needs('docker-registry', 'skopeo'),
  async () => {
    const asked: string[] = [];
    // A forward proxy that knows the name `outside.test`; it gives the registry's answers.
    const proxy = createServer((request, response) => {
      asked.push(request.url ?? '');
      const { pathname, search } = new URL(request.url ?? '');
      const headers = { ...request.headers, host: plain.host };
      httpRequest(`http://${plain.host}${pathname}${search}`, { headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      }).end();
    });
    proxy.on('connect', (request: IncomingMessage, socket) => {
      asked.push(`CONNECT ${request.url}`);
      const [address = '', port = ''] = plain.host.split(':');
      const upstream = connect(Number(port), address, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.pipe(socket);
        socket.pipe(upstream);
      });
      upstream.on('error', () => socket.destroy());
      socket.on('error', () => upstream.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const proxied = { HOME: '/nonexistent', https_proxy: address, http_proxy: address };
    try {
      await digestAt(`docker://${plain.host}/team/web:1`, { env: proxied, insecure: [plain.host] });
      assert.deepEqual(asked, []);
      const through = await digestAt('docker://outside.test/team/web:1', {
        env: proxied,
        insecure: ['outside.test'],
      });
      assert.equal(through, await digestAt(`docker://${plain.host}/team/web:1`, insecure()));
      assert.ok(asked.length > 0);
      await assert.rejects(
        digestAt('docker://outside.test/team/web:1', {
          env: { ...proxied, NO_PROXY: '.test' },
          insecure: ['outside.test'],
        }),
        {
          code: 'Unreachable',
        },
      );
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  },
);

test(
  'M2 M4 a release out of a registry: schema 2 and zstd travel as they are; the same input, the same digest',
  needs('docker-registry', 'skopeo'),
  async () => {
    await buildImage({ out: layout('api'), files: [{ path: '/api', data: 'api'.repeat(5000) }] });
    await push('v2s2', 'api', `${plain.host}/team/api:1`);
    // A layer that the registry has already would be taken from there, packed as it is.
    await buildImage({ out: layout('zstd'), files: [{ path: '/zstd', data: 'zstd'.repeat(5000) }] });
    await push('oci', 'zstd', `${plain.host}/team/zstd:1`, [
      '--dest-compress-format',
      'zstd',
      '--format',
      'oci',
    ]);
    const images = new Map(
      ['web', 'api', 'zstd'].map((tag) => [tag, `docker://${plain.host}/team/${tag}:1`] as [string, string]),
    );
    const manifests = join(directory, 'manifests', 'op');
    await mkdir(manifests, { recursive: true });
    await writeFile(join(manifests, 'ns.yaml'), 'apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n');
    const tags = [...images.keys()].map((name) => ({
      name,
      from: { kind: 'DockerImage', name: `${plain.host}/team/${name}` },
    }));
    await writeFile(
      join(manifests, 'image-references'),
      JSON.stringify({ kind: 'ImageStream', apiVersion: 'image.openshift.io/v1', spec: { tags } }),
    );
    await buildPayload({
      version: '1.2.3',
      previous: [],
      manifests: [manifests],
      images,
      out: layout('payload'),
      scratch: join(directory, 'scratch'),
      access: insecure(),
    });
    await push('oci', 'payload', `${plain.host}/team/release:1.2.3`);
    // Everything is found from the payload alone.
    const built = await Promise.all(
      ['one', 'two.iso'].map((name) =>
        buildBundle({
          payload: `docker://${plain.host}/team/release:1.2.3`,
          images: new Map(),
          access: insecure(),
          privatePem: key.pair.privatePem,
          out: join(directory, name),
        }),
      ),
    );
    assert.equal(built[0]?.digest, built[1]?.digest);
    const payload = built[0]?.document.images.find((each) => each.role === 'payload');
    assert.equal(payload?.source, `${plain.host}/team/release`);
    for (const name of ['one', 'two.iso']) {
      const media = await openMedia(join(directory, name));
      const report = await verifyMedia(media, [key.trusted]);
      assert.deepEqual(problemsOf(report), []);
      const api = built[0]?.document.images.find((each) => each.name === 'api');
      const raw = await media.content.manifest('openshift/release', '1.2.3-api');
      assert.equal(raw?.digest, api?.digest);
      assert.match(raw?.mediaType ?? '', /docker/);
      const zstd = await media.content.manifest('openshift/release', '1.2.3-zstd');
      const [layer] = JSON.parse(Buffer.from(zstd?.bytes ?? []).toString()).layers;
      assert.equal(layer.mediaType, mediaTypes.ociLayerZstd);
      await media.close();
    }
    assert.ok(!existsSync(join(directory, 'one', 'sluice')));
  },
);

interface TokenServer {
  readonly realm: string;
  readonly bundle: string;
  readonly asked: string[];
  readonly server: Server;
}

/** Gives tokens as docker's token specification says: pull for those who know the password. */
async function tokenServer(): Promise<TokenServer> {
  const authority = await createAuthority('tokens');
  const signer = await importPKCS8(authority.keyPem, 'ES256');
  const chain = [authority.certPem.replace(/-----[^-]+-----|\s/g, '')];
  const bundle = join(directory, 'token-ca.pem');
  await writeFile(bundle, authority.certPem);
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://x');
    if (request.headers.authorization !== undefined) asked.push(url.search);
    const known = request.headers.authorization === `Basic ${Buffer.from('user:secret').toString('base64')}`;
    const access = url.searchParams.getAll('scope').map((scope) => {
      const [type, name, actions = ''] = scope.split(':');
      return { type, name, actions: known ? actions.split(',') : [] };
    });
    const token = await new SignJWT({ access })
      .setProtectedHeader({ alg: 'ES256', x5c: chain, typ: 'JWT' })
      .setIssuer('sluice-test')
      .setAudience('stock')
      .setSubject('user')
      .setNotBefore('-10s')
      .setIssuedAt()
      .setExpirationTime('5m')
      .setJti('1')
      .sign(signer);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ token }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { realm: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`, bundle, asked, server };
}
