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
      new RegExp(`unknown command '${word}'\\n\\(Did you mean ${meant}\\?\\)\\n  usage: .*${root}`),
    );
  }
  // A command without subcommands takes no words at all.
  assert.match(sluice('gather', 'stauts').stderr, /too many arguments/);
});

test('what is missing is named and told, with how the command is used and an example', () => {
  const added = sluice('release', 'add');
  assert.deepEqual([added.status, added.stdout], [2, '']);
  assert.deepEqual(added.stderr.replaceAll(program, 'sluice').split('\n'), [
    "error: missing required argument 'release': a bundle's name, or a version that is at hand",
    '  usage: sluice release add [options] <release>',
    '  example: sluice release add 1.1.0',
    '  next: See what it takes: sluice release add --help',
    '',
  ]);
  const graph = sluice('graph', 'show').stderr.replaceAll(program, 'sluice');
  assert.match(
    graph,
    /^error: required option '--from <path\.\.\.>' not specified: media, or the store of a node/,
  );
  assert.match(
    graph,
    /\n {2}usage: sluice graph show \[options\] --from <path\.\.\.>\n {2}example: sluice graph show --from/,
  );
  // What the command itself refuses.
  const run = sluice('up', '--nodes', '0').stderr.replaceAll(program, 'sluice');
  assert.match(
    run,
    /^error: --nodes 0: .*\n {2}usage: sluice up .*\n {2}example: sluice up .*\n {2}next: See what it takes: sluice up --help\n$/,
  );
});

test('a group without a command shows its help, says which are there, and ends as a mistake of usage', () => {
  for (const [group, names] of [
    ['graph', 'serve, show'],
    ['lock', 'ls, release, rotate, serve'],
  ] as const) {
    const { status, stdout, stderr } = sluice(group);
    assert.deepEqual([status, stdout], [2, ''], stderr);
    assert.match(
      stderr,
      new RegExp(`^Usage: .*${group}[^]*\nerror: a command is missing after '\\S+ ${group}': ${names}\n$`),
    );
    assert.doesNotMatch(sluice(group, '--help').stdout, /error:/);
  }
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

test('an option that takes one value is refused where it is given twice; lists are not', () => {
  const { status, stdout, stderr } = sluice(
    'window',
    'open',
    ...['--until', '2h', '--nodes', 'master-1', '--nodes', 'master-2'],
  );
  assert.deepEqual([status, stdout], [2, ''], stderr);
  assert.match(
    stderr,
    /^error: option '--nodes <which>' takes one value and is given twice \(master-1, master-2\): .*names parted by commas/,
  );
  assert.match(stderr, /\n {2}usage: .*window open/);
  assert.match(
    sluice('upgrade', '--to', '1', 'status', '--to=2').stderr,
    /'--to <version>' .*twice \(1, 2\)/,
  );
  // Lists, and switches: a second one takes nothing away.
  const keys = ['--key', 'a.pub', '--key', 'b.pub'];
  assert.match(
    sluice('bundle', 'verify', '/absent', ...keys).stderr,
    /^error: the key a\.pub does not exist$/m,
  );
  assert.match(sluice('preflight', 'run', '--no-wait', '--no-wait').stderr, /^error: no kubeconfig/);
});

test('a window that cannot be closed says nothing before its error', () => {
  const { status, stderr } = sluice('window', 'close', '--nodes', 'all');
  assert.equal(status, 1);
  assert.match(stderr, /^error: no kubeconfig/);
});
