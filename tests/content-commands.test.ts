import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { bundleRepository } from '../src/bundle/document.ts';
import { run, runOrThrow } from '../src/process/run.ts';
import { tagsPath } from '../src/store/path.ts';
import { makeRelease, type TestRelease, testKey } from './bundles.ts';
import { type ContentPlane, key, startRunningPlane, until } from './content-plane.ts';
import { wordsOf } from './shell.ts';
import { needs, repository } from './tier.ts';

let plane: ContentPlane;
let one: TestRelease;
let two: TestRelease;

before(async () => {
  ({ plane, one, two } = await startRunningPlane(1));
  await until('the object', async () => (await plane.object())?.status !== undefined);
});

after(() => plane?.close());

const sluice = (...args: string[]) => plane.sluice(...args);

test('nothing is known of a release that is nowhere, and the message says what is at hand', async () => {
  const result = await sluice('release', 'add', '1.1.0');
  assert.equal(result.code, 1);
  assert.match(result.stderr, /there is no release 1\.1\.0 \(at hand: ocp-release-bundle-1\.0\.0-x86_64\)/);
  assert.match(result.stderr, /next: Attach media.*attach PATH --node NODE/);
});

test('a request for what no disk carries is said to wait, for what, and how it is taken back', async () => {
  const name = 'ocp-release-bundle-7.0.0-x86_64';
  const waits = new RegExp(
    `the request for ${name} stands and waits: .*at hand: ocp-release-bundle-1.0.0-x86_64\\)` +
      `\n {2}next: Attach the disk.*media attach PATH --node NODE.*release cancel ${name}\\.`,
  );
  const asked = await sluice('release', 'add', name, '--no-wait', '-o', 'json');
  assert.equal(asked.code, 0, asked.all);
  const { heldBy, ...data } = JSON.parse(asked.stdout) as { name: string; heldBy: string[] };
  assert.deepEqual([data.name, heldBy], [name, []]);
  assert.match(asked.stderr, waits);
  assert.doesNotMatch(asked.stderr, /copy it now/);
  const waited = await sluice('release', 'add', name);
  assert.equal(waited.code, 1, waited.all);
  assert.match(waited.stderr, waits);
  assert.equal((await sluice('release', 'cancel', name)).code, 0);
  const asks = (await plane.object())?.spec.releases.map((each) => each.name);
  assert.deepEqual(asks, ['ocp-release-bundle-1.0.0-x86_64']);
});

test('media of a stranger: exit code 6, and the reason', async () => {
  const stranger = await makeRelease({
    version: '6.0.0',
    dir: await mkdtemp(join(plane.dir, 'stranger-')),
    key: testKey('stranger').pair,
  });
  const result = await sluice('media', 'attach', stranger.path);
  assert.equal(result.code, 6, result.all);
  assert.match(result.stderr, /is refused: .*not trusted/);
  assert.match(result.stderr, /next: .*ConfigMap sluice-trusted-keys.*within ten seconds/);
  assert.doesNotMatch(result.stderr, /--key/, 'media attach takes none');
  await until('the refusal', async () => (await sluice('media', 'ls')).stdout.includes('SignatureUntrusted'));
  assert.equal((await sluice('media', 'detach', stranger.path)).code, 0);
});

test('something that is no medium is refused at once', async () => {
  const path = join(plane.dir, 'nothing');
  await writeFile(path, 'nothing');
  assert.notEqual((await sluice('media', 'attach', path)).code, 0);
  assert.equal((await sluice('media', 'attach', `${path}.missing`)).code, 1);
});

test('attach, see, add, and be told when the disk may go', async () => {
  const attached = await sluice('media', 'attach', two.path);
  assert.equal(attached.code, 0, attached.all);
  assert.match(attached.stderr, new RegExp(`signature verified ${two.name}`));
  const [, command = ''] =
    /content is hashed when it is read \(all of it at once: (.*)\)/.exec(attached.stderr) ?? [];
  const [program, ...words] = wordsOf(command);
  assert.equal(program, join(repository, 'sluice'));
  assert.equal((await sluice(...words)).code, 0, command);
  assert.match(attached.stderr, /signed by maker/);
  await until('it to be listed', async () => /1\.1\.0 +Mounted/.test((await sluice('release', 'ls')).stdout));

  // Whoever stops watching is told that the work goes on, and how to stop that.
  const [node] = plane.nodes;
  assert.ok(node !== undefined);
  await plane.stopManager(node);
  const left = spawn(join(repository, 'sluice'), ['release', 'add', '1.1.0'], {
    env: { ...process.env, KUBECONFIG: plane.cluster.kubeconfig },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  left.stderr.on('data', (chunk: Buffer) => {
    const before = said;
    said += chunk;
    if (said.includes('waiting') && !before.includes('waiting')) left.kill('SIGINT');
  });
  assert.deepEqual(await once(left, 'exit'), [130, null]);
  assert.match(said, /the nodes go on copying .*release status .*release cancel /s);
  await plane.startManager(node);

  const added = await sluice('release', 'add', '1.1.0', '--wait', '--timeout', '60s');
  assert.equal(added.code, 0, added.all);
  assert.match(added.stderr, /is available: the only node holds it, every byte verified/);
  assert.match(added.stderr, /next: \S*sluice upgrade --to 1.1.0 --dry-run/);
  assert.match(added.stderr, /it is safe to remove the disk now/);
  const again = await sluice('release', 'add', '1.1.0', '--wait');
  assert.equal(again.code, 0);
  assert.match(again.stderr, /was asked for already/);
  const told = await sluice('release', 'add', '1.1.0', '-o', 'json');
  const data = JSON.parse(told.stdout) as { name: string; state: string; nodes: Record<string, unknown>[] };
  assert.deepEqual(
    [data.name, data.state, data.nodes.map(({ node, state }) => [node, state])],
    [two.name, 'Available', [['master-0', 'verified']]],
  );
  assert.doesNotMatch(told.stderr, /is available|next:/);

  const rows = JSON.parse((await sluice('release', 'ls', '-o', 'json')).stdout) as {
    name: string;
    state: string;
  }[];
  assert.deepEqual(
    rows.map((row) => [row.name, row.state]),
    [
      [one.name, 'Available'],
      [two.name, 'Available'],
    ],
  );
  const status = await sluice('release', 'status', '1.1.0');
  assert.match(status.stdout, /master-0 +verified/);
  assert.match(status.stdout, /safe to remove the disk/);

  const paused = await sluice('release', 'pause', '1.1.0');
  assert.match(paused.stderr, /every node holds it already; one that comes to it later waits until resume/);
  assert.equal((await sluice('release', 'resume', '1.1.0')).code, 0);
});

test('a disk of what the node holds already offers no update to it', async () => {
  const attached = await sluice('media', 'attach', one.path);
  assert.equal(attached.code, 0, attached.all);
  assert.match(attached.stderr, /holds all of it already; .*release status 1\.0\.0\n/);
  assert.doesNotMatch(attached.stderr, /next:|upgrade/);
  assert.equal((await sluice('media', 'detach', one.path)).code, 0);
});

test('release catalogs prints what to apply, and says where there is nothing', async () => {
  const none = await sluice('release', 'catalogs', '1.1.0', '-o', 'json');
  assert.equal(none.code, 0, none.all);
  assert.deepEqual(JSON.parse(none.stdout), { apiVersion: 'v1', kind: 'List', items: [] });
  assert.match(none.stderr, /carries no catalog/);
  assert.equal((await sluice('release', 'catalogs', '1.1.0', '--olm', 'v9')).code, 2);
});

test('a release in use is not removed: exit code 3 and who uses it', async () => {
  const dry = await sluice('release', 'rm', '1.0.0', '--dry-run');
  assert.equal(dry.code, 3, dry.all);
  assert.match(dry.stderr, /is in use: the cluster runs it.*\n {2}next: .*update to another release first/);
});

test('a release that nothing uses says what it would free, then frees it', async () => {
  await plane.setCurrent(two);
  await until('it to be free', async () => {
    const dry = await sluice('release', 'rm', '1.0.0', '--dry-run');
    return dry.code === 0 && /may go and frees [\d.]+ MiB on 1 node/.test(dry.stderr);
  });
  assert.match((await sluice('release', 'ls')).stdout, /1\.0\.0/);
  const may = await sluice('release', 'rm', '1.0.0', '--dry-run', '-o', 'json');
  const { bytesOnEach, ...rest } = JSON.parse(may.stdout) as { bytesOnEach: number };
  assert.deepEqual(rest, { name: one.name, state: 'MayGo', nodes: ['master-0'] });
  assert.ok(bytesOnEach > 0);
  const removed = await sluice('release', 'rm', '1.0.0');
  assert.equal(removed.code, 0, removed.all);
  assert.match(removed.stderr, /is removed from 1 node, [\d.]+ MiB are freed$/m);
  const last = await sluice('release', 'rm', '1.1.0');
  assert.equal(last.code, 3, last.all);
});

test('a copy that is given up ends, and what had come of it is freed', async (t) => {
  const three = await makeRelease({
    version: '1.2.0',
    dir: plane.dir,
    key: key.pair,
    images: Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`part-${index}`, {}])),
    blobBytes: 4 * 1024 * 1024,
  });
  const [node] = plane.nodes;
  assert.ok(node !== undefined);
  const { manager } = await plane.replaceManager(node);
  assert.equal((await sluice('media', 'attach', three.path)).code, 0);
  await until('it to be listed', async () => /1\.2\.0 +Mounted/.test((await sluice('release', 'ls')).stdout));
  const copy = () => manager.status().copies.find((each) => each.release === three.name);
  const bytes = async () =>
    Number((await runOrThrow('du', ['-sb', join(node.dirs.store, 'docker')])).stdout.split('\t')[0]);
  const before = await bytes();
  assert.equal((await sluice('release', 'add', '1.2.0', '--no-wait')).code, 0);
  await until('a part of it to come', async () => (copy()?.bytesDone ?? 0) > 8_000_000);
  const still = await sluice('release', 'pause', '1.2.0');
  assert.match(still.stderr, /stand still now\n +next: /);
  await until('it to stand still', async () => copy()?.reason === 'PausedByRequest');
  t.diagnostic(`${(await bytes()) - before} bytes had come`);
  assert.ok((await bytes()) > before + 4_000_000);
  const cancelled = await sluice('release', 'cancel', '1.2.0');
  assert.equal(cancelled.code, 0, cancelled.all);
  assert.match(cancelled.stderr, /is given up; the nodes free what had come of it/);
  await until('its bytes to be free', async () => (await bytes()) < before + 100_000, { describe: bytes });
  assert.match((await sluice('release', 'ls')).stdout, /1\.2\.0 +Mounted/);
});

test('a release that is taken back while its copy is watched ends the watching', async () => {
  const six = await makeRelease({ version: '1.5.0', dir: plane.dir, key: key.pair });
  assert.equal((await sluice('media', 'attach', six.path)).code, 0);
  await until('it to be listed', async () => /1\.5\.0 +Mounted/.test((await sluice('release', 'ls')).stdout));
  const [node] = plane.nodes;
  assert.ok(node !== undefined);
  await plane.stopManager(node);
  const watching = sluice('release', 'add', '1.5.0', '--timeout', '30s');
  const isAsked = async () =>
    (await plane.object())?.spec.releases.some((each) => each.name === six.name) === true;
  await until('it to be asked for', isAsked);
  assert.equal((await sluice('release', 'rm', '1.5.0')).code, 0);
  const watched = await watching;
  await plane.startManager(node);
  assert.equal(watched.code, 1, watched.all);
  assert.match(
    watched.stderr,
    new RegExp(
      `error: ${six.name} is not asked for any more: somebody has taken it back\n` +
        ` {2}next: Ask for it again: \\S*sluice release add ${six.name}\\.`,
    ),
  );
  assert.equal(await isAsked(), false, 'it does not ask again by itself');
});

test(
  'one release is added while the removal of another fails: each is told of by itself',
  needs('root'),
  async (t) => {
    const [node] = plane.nodes;
    assert.ok(node !== undefined);
    const [four, five] = await Promise.all(
      ['1.3.0', '1.4.0'].map((version) => makeRelease({ version, dir: plane.dir, key: key.pair })),
    );
    assert.ok(four !== undefined && five !== undefined);
    for (const { path } of [four, five]) assert.equal((await sluice('media', 'attach', path)).code, 0);
    const listed = async () => (await sluice('release', 'ls')).stdout;
    await until('both to be listed', async () => /1\.3\.0 +Mounted.*1\.4\.0 +Mounted/s.test(await listed()));
    assert.equal((await sluice('release', 'add', '1.3.0', '--timeout', '60s')).code, 0);
    // A name that cannot be taken away, as on a disk that refuses: its directory is held by a mount.
    const held = join(node.dirs.store, tagsPath(bundleRepository), four.name);
    await runOrThrow('mount', ['--bind', held, held]);
    const release = () => run('umount', [held]);
    t.after(release);
    const asked = (await plane.object())?.spec.releases.map((each) => each.name) ?? [];
    await plane.ask(...asked.filter((name) => name !== four.name), five.name);
    const condition = async (name: string, type: string) => {
      const entry = (await plane.object())?.status?.releases.find((each) => each.name === name);
      return entry?.conditions?.find((each) => each.type === type);
    };
    const failed = await until('the failure to be told', async () => {
      const found = await condition(four.name, 'Degraded');
      return found?.reason === 'RemovalFailed' && found;
    });
    assert.match(failed.message, /master-0: .*EBUSY/);
    assert.equal((await condition(four.name, 'Removing'))?.status, 'True');
    await until(
      'the other to come',
      async () => (await condition(five.name, 'Available'))?.status === 'True',
    );
    assert.equal((await condition(five.name, 'Degraded'))?.status, 'False');
    await release();
    await until(
      'the removal to end',
      async () => (await condition(four.name, 'Removing'))?.status !== 'True',
    );
    assert.equal((await condition(four.name, 'Degraded'))?.status ?? 'False', 'False');
  },
);
