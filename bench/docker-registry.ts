import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../src/up/network.ts';

export interface RunningRegistry {
  readonly host: string;
  readonly pid: number;
  close(): Promise<void>;
}

/** The stock registry of Debian over a directory. @param tls files of a certificate and its key. */
export async function startDockerRegistry(
  root: string,
  tls?: { readonly cert: string; readonly key: string },
): Promise<RunningRegistry> {
  const port = await freePort();
  const config = join(root, '..', `registry-${port}.yml`);
  const lines = [
    'version: 0.1',
    'log: {level: error, accesslog: {disabled: true}}',
    `storage: {filesystem: {rootdirectory: ${root}}}`,
    `http: {addr: "127.0.0.1:${port}"${tls === undefined ? '' : `, tls: {certificate: ${tls.cert}, key: ${tls.key}}`}}`,
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  const child = spawn('docker-registry', ['serve', config], { stdio: 'ignore' });
  return await listening(child, port);
}

/** A registry that was started, once it listens. */
export async function listening(child: ChildProcess, port: number): Promise<RunningRegistry> {
  for (let tries = 0; !(await listens(port)); tries += 1) {
    if (tries > 300) throw new Error(`nothing listens at port ${port}`);
    await sleep(100);
  }
  return {
    host: `127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    close: () =>
      new Promise((resolve) => {
        child.on('close', () => resolve());
        child.kill('SIGTERM');
      }),
  };
}

async function listens(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
