import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

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
