import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../src/up/network.ts';

export interface RunningRegistry {
  /** `host:port` on the loopback. */
  readonly host: string;
  /** Its files. */
  readonly root: string;
  close(): Promise<void>;
}

export interface RegistrySettings {
  readonly tls?: { certPem: string; keyPem: string };
  readonly htpasswd?: string;
  /** The registry's own `auth` section. */
  readonly auth?: object;
}

/** Starts the stock registry below `dir`, and waits until it listens. */
export async function listeningRegistry(dir: string, settings: RegistrySettings): Promise<RunningRegistry> {
  await mkdir(dir, { recursive: true });
  const file = async (name: string, text: string) => {
    await writeFile(join(dir, name), text);
    return join(dir, name);
  };
  const port = await freePort();
  const host = `127.0.0.1:${port}`;
  const root = join(dir, 'data');
  const { tls, htpasswd } = settings;
  const http = {
    addr: host,
    ...(tls === undefined
      ? {}
      : { tls: { certificate: await file('tls.crt', tls.certPem), key: await file('tls.key', tls.keyPem) } }),
  };
  const auth =
    htpasswd === undefined
      ? settings.auth
      : { htpasswd: { realm: 'test', path: await file('htpasswd', htpasswd) } };
  const config = {
    version: 0.1,
    log: { level: 'error' },
    storage: { filesystem: { rootdirectory: root }, delete: { enabled: true } },
    http,
    ...(auth === undefined ? {} : { auth }),
  };
  const child = spawn('docker-registry', ['serve', await file('config.yml', JSON.stringify(config))], {
    stdio: 'ignore',
  });
  for (let attempt = 0; ; attempt += 1) {
    if (child.exitCode !== null) throw new Error('docker-registry ended at once');
    if (await answers(port)) break;
    if (attempt > 200) throw new Error('docker-registry does not listen');
    await sleep(50);
  }
  return {
    host,
    root,
    async close() {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
