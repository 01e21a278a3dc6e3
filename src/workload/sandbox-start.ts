import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { SluiceError } from '../errors/error.ts';
import { selfCommand, shimCommand } from '../program/self.ts';

const readyMs = 60_000;
const saidBytesMax = 4096;

/** Starts the supervisor of a prepared container and waits until the container runs. Errors: CommandFailed. */
export async function startShim(directory: string): Promise<void> {
  const [program, ...before] = selfCommand();
  // The supervisor outlives us: what it has to say later goes to a file.
  const errors = openSync(join(directory, 'shim.log'), 'a', 0o600);
  const child = spawn(program, [...before, shimCommand, directory], {
    detached: true,
    stdio: ['ignore', 'pipe', errors],
    env: { PATH: process.env.PATH },
    cwd: '/',
  });
  closeSync(errors);
  const { stdout } = child;
  if (stdout === null) throw new SluiceError('CommandFailed', 'the supervisor has no output');
  let said = '';
  await new Promise<void>((resolve, reject) => {
    const fail = (why: string) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new SluiceError('CommandFailed', why));
    };
    const timer = setTimeout(() => fail(`the container did not start within ${readyMs / 1000} s`), readyMs);
    stdout.setEncoding('utf8');
    stdout.on('data', (text: string) => {
      said = (said + text).slice(0, saidBytesMax);
      if (said === 'ready\n') {
        clearTimeout(timer);
        resolve();
      }
    });
    child.on('error', (error) => fail(error.message));
    stdout.on('end', () => {
      if (said !== 'ready\n') fail(said.trim() || 'the supervisor of the container ended');
    });
  });
  stdout.destroy();
  child.unref();
}
