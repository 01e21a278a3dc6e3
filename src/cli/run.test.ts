import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

const program = join(import.meta.dirname, '..', '..', 'sluice');

function sluice(...words: string[]) {
  const env = { PATH: process.env.PATH, HOME: '/absent' };
  const { status, stdout, stderr } = spawnSync(program, words, { encoding: 'utf8', env });
  return { status, stdout, stderr };
}

test('a subcommand that does not exist is called so, also where the command has an action of its own', () => {
  for (const [root, word, meant] of [
    ['upgrade', 'stauts', 'status'],
    ['up', 'stauts', 'status'],
    ['console', 'lnk', 'link'],
    ['node', 'wyh', 'why'],
  ] as const) {
    const { status, stdout, stderr } = sluice(root, word);
    assert.deepEqual([status, stdout], [2, ''], stderr);
    assert.match(
      stderr,
      new RegExp(`unknown command '${word}'\\n\\(Did you mean ${meant}\\?\\)\\nAdd --help`),
    );
  }
  // A command without subcommands takes no words at all.
  assert.match(sluice('gather', 'stauts').stderr, /too many arguments/);
});

test('a word that is no format is told before the cluster is looked for', () => {
  for (const words of [
    ['node', 'why', '-o', 'jsn'],
    ['upgrade', 'status', '-o', 'jsn'],
    ['window', 'ls', '--nodes', 'all', '-o', 'jsn'],
  ]) {
    const { status, stderr } = sluice(...words);
    assert.equal(status, 2, stderr);
    assert.match(stderr, /-o jsn is not a format\n {2}next: Use one of: table/);
  }
});

test('a window that cannot be closed says nothing before its error', () => {
  const { status, stderr } = sluice('window', 'close', '--nodes', 'all');
  assert.equal(status, 1);
  assert.match(stderr, /^error: no kubeconfig/);
});
