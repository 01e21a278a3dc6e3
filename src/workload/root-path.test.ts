import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseMounts } from './mounts.ts';
import { descendants, parseStatus } from './processes.ts';
import { findProgram, resolveInRoot } from './root-path.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-root-'));
process.on('exit', () => rmSync(root, { recursive: true, force: true }));
mkdirSync(join(root, 'var'));
mkdirSync(join(root, 'bin'));
symlinkSync('../run', join(root, 'var', 'run'));
symlinkSync('/../../../../etc', join(root, 'up'));
symlinkSync('loop', join(root, 'loop'));
writeFileSync(join(root, 'file'), '');
writeFileSync(join(root, 'bin', 'tool'), '');
chmodSync(join(root, 'bin', 'tool'), 0o755);
writeFileSync(join(root, 'bin', 'text'), '');
symlinkSync('/bin/tool', join(root, 'bin', 'alias'));

test('links are followed as the container would: none leads out', async () => {
  const table: [string, string][] = [
    ['/var/run/secrets', 'run/secrets'],
    ['/up/passwd', 'etc/passwd'],
    ['/../../x', 'x'],
    ['/a/../b/./c', 'b/c'],
    ['/', ''],
  ];
  for (const [path, wanted] of table) assert.equal(await resolveInRoot(root, path), join(root, wanted), path);
  await assert.rejects(resolveInRoot(root, '/loop/x'), /too many links/);
  await assert.rejects(resolveInRoot(root, '/file/x'), /is a file/);
});

test('a program is found as execvp finds it', async () => {
  assert.equal(await findProgram(root, 'tool', '/none:/bin', '/'), '/bin/tool');
  assert.equal(await findProgram(root, 'alias', '/bin', '/'), '/bin/alias');
  assert.equal(await findProgram(root, './tool', '', '/bin'), '/bin/tool');
  assert.equal(await findProgram(root, 'text', '/bin', '/'), undefined);
  assert.equal(await findProgram(root, '/nowhere', '/bin', '/'), undefined);
});

test('mount points below a directory, deepest first, escapes read', () => {
  const text = [
    '1 0 8:1 / / rw - ext4 /dev/a rw',
    '2 1 8:1 / /d/a rw - ext4 /dev/a rw',
    '3 1 8:1 / /d/a/b\\040c rw - tmpfs t rw',
    '4 1 8:1 / /dx rw - tmpfs t rw',
  ].join('\n');
  assert.deepEqual(parseMounts(text, '/d'), ['/d/a/b c', '/d/a']);
});

test('processes: the text of status, and who descends from whom', () => {
  const text =
    'Name:\tx\nState:\tS (sleeping)\nPPid:\t1\nUid:\t20\t20\t20\t20\nRssAnon:\t 10 kB\nRssShmem:\t 2 kB\n';
  assert.deepEqual(parseStatus(5, text), { pid: 5, parent: 1, uid: 20, memoryBytes: 12_288 });
  assert.equal(parseStatus(5, 'State:\tZ (zombie)\n'), undefined);
  const one = (pid: number, parent: number) => ({ pid, parent, uid: 0, memoryBytes: 0 });
  const all = [one(3, 9), one(9, 2), one(2, 1), one(4, 1)];
  assert.deepEqual(
    descendants(all, 2).map(({ pid }) => pid),
    [3, 9, 2],
  );
});
