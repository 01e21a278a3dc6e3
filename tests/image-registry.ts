import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashSync } from 'bcryptjs';
import { buildImage, type ImageFile, type ImageRunConfig } from '../src/build/image.ts';
import type { Digest } from '../src/oci/digest.ts';
import { runOrThrow } from '../src/process/run.ts';
import { createAuthority, issue } from '../src/trust/authority.ts';
import { freePort } from '../src/up/network.ts';

/** The stock registry on the loopback, with TLS and a password. */
export interface ImageRegistry {
  /** `host:port`. */
  readonly host: string;
  readonly caPem: string;
  readonly auth: { username: string; password: string };
  /** Builds an image and pushes it. */
  push(repository: string, files: readonly ImageFile[], config?: ImageRunConfig): Promise<Digest>;
  close(): Promise<void>;
}

/** Files of an image with busybox's usual commands, and `more` of them. */
export function busyboxFiles(...more: readonly string[]): ImageFile[] {
  const applets = [
    'sh',
    'cat',
    'echo',
    'env',
    'id',
    'sleep',
    'ls',
    'touch',
    'mkdir',
    'wget',
    'true',
    'false',
    ...more,
  ];
  return [
    { path: '/bin/busybox', mode: 0o755, from: '/bin/busybox' },
    ...applets.map((name) => ({ path: `/bin/${name}`, target: 'busybox' })),
    { path: '/etc/passwd', data: 'root:x:0:0::/:/bin/sh\n' },
    { path: '/tmp/.keep', data: '' },
  ];
}

/** The host's curl with the libraries that it loads, and `more` programs, as files of an image. */
export async function curlFiles(...more: readonly string[]): Promise<ImageFile[]> {
  const paths = new Set<string>();
  for (const program of ['/usr/bin/curl', ...more]) {
    const { stdout } = await runOrThrow('ldd', [program]);
    paths.add(program);
    for (const [, library = ''] of stdout.matchAll(/(\/\S+\.so\S*)/g)) paths.add(library);
  }
  return [...paths].map((path) => ({ path, mode: 0o755, from: path }));
}

export async function startImageRegistry(dir: string): Promise<ImageRegistry> {
  mkdirSync(dir, { recursive: true });
  const authority = await createAuthority('image registry');
  const pair = await issue(authority, {
    commonName: 'registry',
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  const auth = { username: 'openshift', password: 'not a secret: a test' };
  const file = (name: string, text: string) => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };
  const port = await freePort();
  const host = `127.0.0.1:${port}`;
  const config = {
    version: 0.1,
    log: { level: 'error' },
    storage: { filesystem: { rootdirectory: join(dir, 'data') } },
    http: {
      addr: host,
      tls: { certificate: file('tls.crt', pair.certPem), key: file('tls.key', pair.keyPem) },
    },
    auth: {
      htpasswd: { realm: 'test', path: file('htpasswd', `${auth.username}:${hashSync(auth.password, 4)}\n`) },
    },
  };
  const child = spawn('docker-registry', ['serve', file('config.yml', JSON.stringify(config))], {
    stdio: 'ignore',
  });
  await listening(child, port);
  const certificates = join(dir, 'certificates');
  mkdirSync(certificates);
  writeFileSync(join(certificates, 'ca.crt'), authority.certPem);
  let images = 0;
  return {
    host,
    caPem: authority.certPem,
    auth,
    async push(repository, files, imageConfig) {
      images += 1;
      const directory = join(dir, `image-${images}`);
      const { digest } = await buildImage({
        out: { directory, reference: '1' },
        files,
        directoryMode: 0o755,
        ...(imageConfig === undefined ? {} : { config: imageConfig }),
      });
      await runOrThrow('skopeo', [
        'copy',
        '--insecure-policy',
        '--dest-cert-dir',
        certificates,
        '--dest-creds',
        `${auth.username}:${auth.password}`,
        `oci:${directory}:1`,
        `docker://${host}/${repository}:1`,
      ]);
      return digest;
    },
    async close() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function listening(child: ChildProcess, port: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (child.exitCode !== null) throw new Error('docker-registry ended at once');
    const tables = ['/proc/net/tcp', '/proc/net/tcp6'].filter((path) => existsSync(path));
    const hex = port.toString(16).toUpperCase().padStart(4, '0');
    const { stdout } = await runOrThrow('cat', tables);
    if (stdout.includes(`:${hex} 0`)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('docker-registry does not listen');
}
