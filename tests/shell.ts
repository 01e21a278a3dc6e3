import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

/** The words that a shell hands to a command that was printed. Fails where the shell cannot read it. */
export function wordsOf(command: string): string[] {
  const script = `words() { for word; do printf '%s\\0' "$word"; done; }; words ${command}`;
  const read = spawnSync('sh', ['-c', script], { cwd: '/', encoding: 'utf8' });
  assert.equal(read.status, 0, `${command}: ${read.stderr}`);
  return read.stdout.split('\0').slice(0, -1);
}
