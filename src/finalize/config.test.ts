import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from './config-files.ts';

async function load(t: import('node:test').TestContext, files: Record<string, string | null>) {
  const root = await mkdtemp(join(tmpdir(), 'sluice-config-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const directory of ['usr', 'run', 'etc']) await mkdir(join(root, directory));
  for (const [name, text] of Object.entries(files)) {
    if (text === null) await symlink('/dev/null', join(root, name));
    else await writeFile(join(root, name), text);
  }
  return await loadConfig(['usr', 'run', 'etc', 'missing'].map((name) => join(root, name)));
}

test('drop-ins: unique by name, later directory wins, byte order of names, masks', async (t) => {
  const { config, problems } = await load(t, {
    'usr/10-a.toml': '[updates]\nstrategy = "fleet_lock"\n[updates.fleet_lock]\nbase_url = "http://lower/"',
    'etc/10-a.toml': '[updates.fleet_lock]\nbase_url = "http://upper/"',
    'run/100-late.toml': '[identity]\ngroup = "workers"',
    'usr/90-masked.toml': '[identity]\ngroup = "never"',
    'etc/90-masked.toml': null,
    'etc/20-strategy.toml': '[updates]\nstrategy = ["marker_file", "fleet_lock"]',
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(config.strategies, ['marker_file', 'fleet_lock']);
  assert.equal(config.fleetLock.baseUrl, 'http://upper/');
  assert.equal(config.identity.group, 'workers');
});

test('B66 a broken drop-in is a problem with file and line, never a looser rule', async (t) => {
  const { problems } = await load(t, {
    'etc/30-strategy.toml': '[updates]\nstrategy = "immediate"',
    'etc/50-strategy.toml': '[updates]\nstrategy = marker_file',
  });
  assert.equal(problems.length, 1);
  assert.match(problems[0] ?? '', /etc\/50-strategy\.toml:2:\d+/);
});

test('B10 keys without effect are told', async (t) => {
  const { warnings, problems } = await load(t, {
    'etc/50-x.toml': '[[updates.fleet_lock.window]]\ndays = ["Mon"]',
    'etc/notes.txt': '',
  });
  assert.deepEqual(problems, []);
  assert.ok(warnings.some((warning) => warning.includes('updates.fleet_lock.window')));
  assert.ok(warnings.some((warning) => warning.includes('notes.txt')));
});

test('B40 an unknown strategy, or a lock without its server, is a problem', async (t) => {
  assert.match(
    (await load(t, { 'etc/1.toml': '[updates]\nstrategy = "etcd-lock"' })).problems[0] ?? '',
    /etcd-lock/,
  );
  assert.match(
    (await load(t, { 'etc/1.toml': '[updates]\nstrategy = "fleet_lock"' })).problems[0] ?? '',
    /base_url/,
  );
});
