import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

test('a process goes on when its log cannot be written', (t) => {
  const module = JSON.stringify(join(import.meta.dirname, 'log.ts'));
  const script = `const { createLogger } = await import(${module});
    const logger = createLogger('test');
    for (let line = 0; line < 50; line += 1) logger.info({ line }, 'x'.repeat(1000));
    console.log('goes on');`;
  const full = openSync('/dev/full', 'w');
  t.after(() => closeSync(full));
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', full],
    env: { ...process.env, SLUICE_LOG: 'info' },
  });
  assert.equal(String(stdout), 'goes on\n');
});

test('a reader that is slow gets every line in the end, whole and in order', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-log-'));
  const fifo = join(dir, 'stderr');
  execFileSync('mkfifo', [fifo]);
  const pipe = openSync(fifo, constants.O_RDWR);
  const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  t.after(() => {
    closeSync(pipe);
    closeSync(reader);
    rmSync(dir, { recursive: true });
  });
  // Whoever shares a terminal or a pipe may have made it one that does not wait; a socket object does that here.
  const script = `const { createLogger } = await import(${JSON.stringify(join(import.meta.dirname, 'log.ts'))});
    const { Socket } = await import('node:net');
    new Socket({ fd: 2, readable: false }).unref();
    const logger = createLogger('test').child({ of: 'child' });
    for (let line = 0; line < 200; line += 1) logger.info({ line, bytes: 'ü'.repeat(500) }, 'said');
    logger.debug({}, 'not said');
    logger.warn({ circle: 1n }, 'odd');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'ignore', pipe],
    env: { ...process.env, SLUICE_LOG: 'info' },
  });
  const ended = once(child, 'exit');
  let open = true;
  void ended.then(() => {
    open = false;
  });
  const chunks: Buffer[] = [];
  const buffer = Buffer.alloc(16 * 1024);
  for (let rest = true; open || rest; ) {
    try {
      chunks.push(Buffer.from(buffer.subarray(0, readSync(reader, buffer))));
    } catch {
      rest = open;
      await sleep(20);
    }
  }
  const lines = Buffer.concat(chunks).toString().trim().split('\n');
  const said = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    said.slice(0, -1).map(({ line }) => line),
    Array.from({ length: 200 }, (_, line) => line),
  );
  const { time, bytes, ...first } = said[0] ?? {};
  assert.ok(Number.isFinite(Date.parse(String(time))));
  assert.deepEqual(first, { level: 'info', component: 'test', of: 'child', line: 0, msg: 'said' });
  assert.equal(said.at(-1)?.msg, 'odd');
  assert.match(String(said.at(-1)?.unprintable), /BigInt/);
});
