import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ApiError } from '../src/kube/error.ts';
import { run } from '../src/process/run.ts';
import { startApiServerProcess } from './apiserver-process.ts';
import { needs, repository } from './tier.ts';

const mebi = 2 ** 20;
const diskBytes = 24 * mebi;

function command(program: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${program} ${args.join(' ')}: ${stderr}`);
}

/** A small disk of its own, mounted. */
function mountDisk(t: TestContext, type: 'ext4' | 'tmpfs'): string {
  const base = mkdtempSync(join(tmpdir(), 'sluice-disk-'));
  const dir = join(base, 'disk');
  mkdirSync(dir);
  if (type === 'tmpfs') command('mount', '-t', 'tmpfs', '-o', `size=${diskBytes}`, 'sluice-test', dir);
  else {
    const image = join(base, 'image');
    writeFileSync(image, '');
    truncateSync(image, diskBytes);
    command('mkfs.ext4', '-q', '-m', '0', image);
    command('mount', '-o', 'loop', image, dir);
  }
  t.after(() => {
    command('umount', '--lazy', dir);
    rmSync(base, { recursive: true, force: true });
  });
  return dir;
}

/** Takes what is left of the disk, but for some bytes. */
function fill(dir: string, leave: number): string {
  const filler = join(dir, 'filler');
  const { bavail, bsize } = statfsSync(dir);
  const bytes = bavail * bsize - leave;
  try {
    for (let left = bytes; left > 0; left -= mebi) {
      writeFileSync(filler, Buffer.alloc(Math.min(left, mebi), 1), { flag: 'a' });
    }
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
  }
  return filler;
}

for (const type of ['tmpfs', 'ext4'] as const) {
  test(`a really full disk (${type}): writes are refused in words, nothing is lost, and it goes on by itself`, {
    ...needs('root'),
  }, async (t) => {
    const dir = mountDisk(t, type);
    const first = await startApiServerProcess(t, dir, '--no-controllers', '--no-crds');
    const { ConfigMap } = first.client.kinds;
    const acknowledged = new Map<string, string | undefined>();
    const create = async (name: string) => {
      const made = await first.client.create(ConfigMap, {
        metadata: { name, namespace: 'default' },
        data: { text: name.padEnd(60_000, '.') },
      });
      acknowledged.set(name, made.metadata.resourceVersion);
    };
    await create('before');
    const filler = fill(dir, 3 * mebi);
    let refused: unknown;
    for (let n = 0; refused === undefined; n += 1) {
      assert.ok(n < 500, 'the disk is never full');
      await create(`fill-${n}`).catch((error: unknown) => {
        refused = error;
      });
    }
    assert.ok(refused instanceof ApiError, String(refused));
    assert.equal(refused.status, 503);
    assert.match(refused.message, /did not reach the disk: .*full/);
    assert.ok(acknowledged.size > 3);
    // It stays so, and reads go on.
    for (let n = 0; n < 5; n += 1)
      await assert.rejects(create(`again-${n}`), /did not reach the disk: .*full/);
    const listed = await first.client.list(ConfigMap, { namespace: 'default' });
    assert.deepEqual(
      new Map(listed.items.map(({ metadata }) => [metadata.name, metadata.resourceVersion])),
      acknowledged,
    );
    const backup = join(dir, 'backup.db');
    const kept = await run(join(repository, 'sluice'), ['apiserver', '--dir', dir, 'backup', backup]);
    assert.notEqual(kept.code, 0);
    assert.match(kept.stderr, /the backup of .* failed: .*full/);

    // Killed and started while the disk is full: it says so, or serves what is there.
    assert.equal((await first.end('SIGKILL')).signal, 'SIGKILL');
    await startApiServerProcess(
      t,
      dir,
      '--no-controllers',
      '--no-crds',
      '--listen',
      new URL(first.url).host,
    ).then(
      async (server) => {
        assert.equal(
          (await server.client.list(ConfigMap, { namespace: 'default' })).items.length,
          acknowledged.size,
        );
        await server.end('SIGKILL');
      },
      (error: Error) => assert.match(error.message, /error: .*(disk is full|no space)[\s\S]*next: /i),
    );

    rmSync(filler);
    const second = await startApiServerProcess(t, dir, '--no-controllers', '--no-crds');
    const found = (await second.client.list(ConfigMap, { namespace: 'default' })).items;
    for (const [name, version] of acknowledged) {
      const one = found.find(({ metadata }) => metadata.name === name);
      assert.equal(one?.metadata.resourceVersion, version, name);
      assert.equal(one?.data?.text, name.padEnd(60_000, '.'));
    }
    const filledAgain = fill(dir, 2 * mebi);
    const write = (name: string) =>
      second.client.create(ConfigMap, {
        metadata: { name, namespace: 'default' },
        data: { text: 'x'.repeat(100_000) },
      });
    let n = 0;
    while (
      await write(`more-${n}`).then(
        () => true,
        () => false,
      )
    )
      n += 1;
    rmSync(filledAgain);
    await write('there is room again'.replaceAll(' ', '-'));
    assert.equal((await second.end('SIGTERM')).code, 0);
  });
}
