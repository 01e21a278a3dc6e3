import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

test('a second signal says what is left, then ends the process at once', () => {
  const program = `
    import { terminationSignal } from ${JSON.stringify(fileURLToPath(new URL('parent.ts', import.meta.url)))};
    const signal = terminationSignal(() => console.log('left: all'));
    setInterval(() => process.kill(process.pid, 'SIGINT'), 20);
    signal.addEventListener('abort', () => console.log('ending'));
  `;
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  assert.equal(stdout, 'ending\nleft: all\n');
  assert.equal(status, 130);
});
