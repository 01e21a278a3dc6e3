import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from './config-files.ts';

/** A variable as configuration writes it. */
const named = (name: string) => ['$', '{', name, '}'].join('');

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

test('every key of a zincati configuration is honoured, with its file and line', async (t) => {
  const { config, values, warnings, problems } = await load(t, {
    'usr/10-agent.toml': '[agent.timing]\nsteady_interval_secs = 60\n',
    'usr/10-auto-updates.toml': '[updates]\nenabled = true\nallow_downgrade = true\n',
    'usr/10-identity.toml':
      '# who we are\n[identity]\ngroup = "workers"\nrollout_wariness = 0.5\nnode_uuid = "01234567-89ab-cdef-0123-456789ABCDEF"\n',
    'etc/30-updates-strategy.toml':
      '[updates]\nstrategy = "periodic"\n\n[updates.periodic]\ntime_zone = "Europe/Berlin"\n\n[[updates.periodic.window]]\ndays = [ "Sat", "Sun" ]\nstart_time = "22:30"\nlength_minutes = 60\n',
    'etc/31-more.toml':
      '[[updates.periodic.window]]\ndays = ["Wed"]\nstart_time = "01:00"\nlength_minutes = 30\n',
    'usr/50-fedora-coreos-cincinnati.toml':
      '[cincinnati]\nbase_url= "https://updates.coreos.fedoraproject.org"\n',
    'run/60-lock.toml': '[updates.fleet_lock]\nbase_url = "http://lock/"\n',
  });
  assert.deepEqual(problems, []);
  assert.equal(config.periodic.windows.length, 3, 'windows of all files add up');
  assert.deepEqual(config.identity, {
    group: 'workers',
    rolloutWariness: 0.5,
    nodeUuid: '0123456789abcdef0123456789abcdef',
  });
  assert.deepEqual([config.steadyIntervalMs, config.allowDowngrade], [60_000, true]);
  const from = (key: string) =>
    values.filter((value) => value.key === key).map(({ path, line }) => `${path.split('/').at(-1)}:${line}`);
  assert.deepEqual(from('identity.rollout_wariness'), ['10-identity.toml:4']);
  assert.deepEqual(from('updates.periodic.window'), ['30-updates-strategy.toml:7', '31-more.toml:1']);
  assert.deepEqual(from('cincinnati.base_url'), ['50-fedora-coreos-cincinnati.toml:2']);
  assert.ok(warnings.some((warning) => warning.includes('updates.fleet_lock.base_url has no effect')));
});

test('what is ignored is told: dots, other endings, files that are replaced, keys without effect with their line', async (t) => {
  const { warnings } = await load(t, {
    'usr/50-a.toml': '[updates]\nenabled = true\n',
    'etc/50-a.toml': '[updates]\nenabled = true\n[updates.periodc]\ntime_zone = "UTC"\n',
    'etc/.hidden.toml': '',
    'etc/60-b.TOML': '',
  });
  for (const part of [
    'usr/50-a.toml is replaced',
    'begins with a dot',
    '60-b.TOML is ignored',
    '50-a.toml:4: the key updates.periodc.time_zone has no effect',
  ]) {
    assert.ok(
      warnings.some((warning) => warning.includes(part)),
      `${part}: ${warnings.join(' | ')}`,
    );
  }
});

test('values that are none are problems with file and line, whatever the key', async (t) => {
  for (const [text, problem] of [
    ['[agent.timing]\nsteady_interval_secs = 0', /x\.toml:2: agent\.timing\.steady_interval_secs must be/],
    ['[identity]\nrollout_wariness = 1.5', /0\.0 to 1\.0/],
    ['[identity]\nrollout_wariness = nan', /0\.0 to 1\.0/],
    ['[identity]\ngroup = "a/b"', /must match/],
    ['[updates]\nenabled = "yes"', /true or false/],
    ['[updates]\nstrategy = []', /a strategy or a list/],
    ['[updates]\nstrategy = "periodic"', /needs at least one/],
    [
      '[updates]\nstrategy = "periodic"\n[updates.periodic]\ntime_zone = "Mars/X"\n[[updates.periodic.window]]\ndays = ["Mon"]\nstart_time = "1:00"\nlength_minutes = 5',
      /not a time zone/,
    ],
    ['[[updates.periodic.window]]\ndays = ["Mon"]\nstart_time = "1:00"', /length_minutes must be/],
    ['[updates]\nmode = "fast"', /must be one of/],
    [`[updates.fleet_lock]\nbase_url = "http://h/${named('node_uuid')}"`, /unknown variable 'node_uuid'/],
  ] as const) {
    const { problems } = await load(t, { 'etc/x.toml': text });
    assert.match(problems.join(' '), problem, text);
  }
});

test('what zincati takes for unset is unset, and where both read an address differently, it is told', async (t) => {
  const unset = await load(t, {
    'etc/1.toml':
      '[identity]\ngroup = ""\nnode_uuid = ""\n[updates]\nstrategy = ""\n[updates.fleet_lock]\nbase_url = ""\n',
  });
  assert.deepEqual(unset.problems, []);
  assert.deepEqual([unset.config.identity, unset.config.strategies], [{ group: 'default' }, ['immediate']]);
  const address = async (baseUrl: string) =>
    (
      await load(t, {
        'etc/1.toml': `[updates]\nstrategy = "fleet_lock"\n[updates.fleet_lock]\nbase_url = "${baseUrl}"\n`,
      })
    ).warnings;
  assert.match((await address('http://h:1/base')).join(), /zincati drops the last part, base/);
  for (const same of ['http://h:1', 'http://h:1/', 'http://h:1/base/'])
    assert.deepEqual(await address(same), [], same);
  assert.match(
    (
      await load(t, {
        'etc/1.toml': '[updates]\nstrategy = "fleet_lock"\n[updates.fleet_lock]\nbase_url = ""\n',
      })
    ).problems.join(),
    /needs updates\.fleet_lock\.base_url/,
  );
});
